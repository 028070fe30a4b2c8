package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// shape is a way to put a value of type T into something larger. $1 is the value; {T} is the type and {n}
// its name inside the names of the types that are made around it.
type shape struct {
	name, value, of string
	flat            bool // not for JSON: see "deeper arrays" in TestCodecSaysWhatIsLost
}

const composite = `ROW($1::{T}, NULL, 'q"\,()', ARRAY[$1::{T}, NULL])::{s}.c_{n}`

var shapes = []shape{
	{name: "plain", value: "$1::{T}", of: "{T}"},
	{name: "array", value: "ARRAY[$1::{T}, NULL, $1::{T}]", of: "{T}[]"},
	{name: "array with a lower bound", value: "array_fill($1::{T}, ARRAY[2], ARRAY[0])", of: "{T}[]"},
	{name: "array of two dimensions with lower bounds", value: "array_fill($1::{T}, ARRAY[2,1], ARRAY[0,-3])", of: "{T}[]", flat: true},
	{name: "array of three dimensions", value: "ARRAY[ARRAY[ARRAY[$1::{T}, NULL]], ARRAY[ARRAY[NULL, $1::{T}]]]", of: "{T}[]", flat: true},
	{name: "empty array", value: "(ARRAY[$1::{T}])[2:3]", of: "{T}[]"},
	{name: "domain", value: "$1::{T}::{s}.d_{n}", of: "{s}.d_{n}"},
	{name: "array of domains", value: "ARRAY[$1::{T}::{s}.d_{n}, $1::{T}::{s}.d_{n}]", of: "{s}.d_{n}[]"},
	{name: "domain over an array", value: "ARRAY[$1::{T}, NULL]::{s}.da_{n}", of: "{s}.da_{n}"},
	{name: "array of domains over arrays", value: "ARRAY[ARRAY[$1::{T}]::{s}.da_{n}, NULL::{s}.da_{n}, ARRAY[]::{T}[]::{s}.da_{n}, ARRAY[$1::{T}, NULL]::{s}.da_{n}]", of: "{s}.da_{n}[]"},
	{name: "composite", value: composite, of: "{s}.c_{n}"},
	{name: "array of composites", value: "ARRAY[" + composite + ", NULL]", of: "{s}.c_{n}[]"},
	{name: "domain over a composite", value: composite + "::{s}.dc_{n}", of: "{s}.dc_{n}"},
	{name: "composite of composites", value: "ROW(" + composite + ", ARRAY[" + composite + "])::{s}.n_{n}", of: "{s}.n_{n}"},
}

const around = `CREATE DOMAIN {s}.d_{n} AS {T};
CREATE DOMAIN {s}.da_{n} AS {T}[];
CREATE TYPE {s}.c_{n} AS (a {T}, b {T}, c text, d {T}[]);
CREATE DOMAIN {s}.dc_{n} AS {s}.c_{n};
CREATE TYPE {s}.n_{n} AS (x {s}.c_{n}, y {s}.c_{n}[]);
`

// codec tries values in a session.
type codec struct {
	s      *postgres.Session
	schema string // of the types that the test made
}

// all lists the types to try, built-in and own. Every type of the server is named here or not tried.
func all(t pgtemp.TB, db *pgtemp.DB) []string {
	t.Helper()
	var names []string
	for _, row := range db.Query(t, `SELECT t.typname FROM pg_type t WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r', 'm')
		AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid)`) {
		switch name := row[0]; {
		case notTried[name] != "":
		case samples[name] == nil:
			t.Fatalf("type %s is new: add values of it to samples, or to notTried why it has none", name)
		default:
			names = append(names, name)
		}
	}
	return append(names, ownNames...)
}

// makeTypes makes a schema with the types around every type.
func makeTypes(t pgtemp.TB, db *pgtemp.DB, schema string, names []string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("CREATE SCHEMA " + schema + "; GRANT USAGE ON SCHEMA " + schema + " TO readonly; SET search_path = " + schema + ";" + ownTypes)
	c := codec{schema: schema}
	for _, n := range names {
		b.WriteString(c.in(n, around))
	}
	db.Exec(t, b.String())
}

// in fills a text's places in for a type.
func (c codec) in(name, text string) string {
	schema := "pg_catalog"
	if slices.Contains(ownNames, name) {
		schema = c.schema
	}
	return strings.NewReplacer("{T}", fmt.Sprintf("%s.%q", schema, name), "{s}", c.schema, "{n}", name).Replace(text)
}

// errNoValue is why there was nothing to compare: the text is no value, or Postgres itself does not take
// back what it prints of it.
var errNoValue = errors.New("not a value")

// roundTrip holds one value, alone and inside every shape, to the promise: what Postgres prints, as we
// render it, given back as a parameter, is printed the same again.
func (c codec) roundTrip(ctx context.Context, t require.TestingT, name, value string) error {
	isJSON := name == "json" || name == "jsonb"
	var used []shape
	for _, s := range shapes {
		if !isJSON || !s.flat {
			used = append(used, s)
		}
	}
	var put, read []string
	for i, s := range used {
		put = append(put, c.in(name, s.value))
		read = append(read, fmt.Sprintf("$%d::%s", i+1, c.in(name, s.of)))
	}
	printed, err := c.s.Printed(ctx, "SELECT "+strings.Join(put, ", "), [][]byte{[]byte(value)})
	if isServerError(err) {
		return errors.Join(errNoValue, err)
	}
	require.NoError(t, err)
	again := "SELECT " + strings.Join(read, ", ")
	own, err := c.s.Printed(ctx, again, printed.Rows[0])
	if isServerError(err) {
		return errors.Join(errNoValue, err)
	}
	require.NoError(t, err)

	rendered, err := c.s.Values(ctx, printed)
	require.NoError(t, err)
	given := slices.Clone(rendered[0])
	for i, v := range given {
		text := printed.Rows[0][i]
		require.True(t, json.Valid(v) && utf8.Valid(v), "%s, %s: %q became %q", name, used[i].name, text, v)
		require.False(t, bytes.ContainsAny(v, "\n\r\u2028\u2029"), "%s, %s: a line end in %q", name, used[i].name, v)
		if !bytes.Equal(text, own.Rows[0][i]) || !utf8.Valid(text) {
			return errNoValue // "char" beyond ASCII, before Postgres 16
		}
		// The one rule for JSON: a string is text. A JSON string, and the JSON null, are given as their text.
		if strings.HasPrefix(used[i].name, "plain") || used[i].name == "domain" {
			if isJSON && (v[0] == '"' || string(v) == "null") {
				given[i], err = json.Marshal(string(v))
				require.NoError(t, err)
			}
		}
	}
	if isJSON && string(rendered[0][0]) == "null" {
		return nil // inside an array it cannot be told from NULL; see TestCodecSaysWhatIsLost
	}
	params, err := c.s.EncodeParams(ctx, again, given)
	require.NoError(t, err, "%s: %s", name, given)
	back, err := c.s.Printed(ctx, again, params)
	require.NoError(t, err, "%s: %s", name, given)
	reread, err := c.s.Values(ctx, back)
	require.NoError(t, err)
	for i, s := range used {
		require.Equal(t, string(rendered[0][i]), string(reread[0][i]), "%s, %s", name, s.name)
		if name == "json" && !strings.Contains(s.name, "composite") { // keeps its white space in the database
			continue
		}
		require.Equal(t, string(unbound(printed.Rows[0][i], s)), string(back.Rows[0][i]), "%s, %s, given as %s", name, s.name, given[i])
	}
	return nil
}

// unbound takes an array's lower bounds away, which JSON has no place for.
func unbound(v []byte, s shape) []byte {
	if strings.Contains(s.name, "lower bound") {
		_, v, _ = bytes.Cut(v, []byte("]="))
	}
	return v
}

func isServerError(err error) bool {
	_, ok := errors.AsType[*wire.ServerError](err)
	return ok
}

// TestCodec: every built-in type, and the kinds of types that a database adds, made before and after the
// server connected. See samples, notTried and shapes for what is tried.
func TestCodec(t *testing.T) {
	t.Parallel()
	var names []string
	b := setup(t, func(db *pgtemp.DB, _ *postgres.Options) {
		names = all(t, db)
		makeTypes(t, db, "before", names)
	})
	try := func(schema string, most int) {
		s := acquire(t, b.DB.Readonly())
		defer s.Release()
		c := codec{s: s, schema: schema}
		for _, name := range names {
			for _, value := range samples[name][:min(most, len(samples[name]))] {
				err := c.roundTrip(t.Context(), t, name, value)
				if name == "xml" && err != nil && strings.Contains(err.Error(), "0A000") {
					continue // a server without libxml
				}
				require.NoError(t, err, "%s: %q", name, value)
			}
		}
	}
	try("before", 100)
	makeTypes(t, b.PG, "after", names)
	try("after", 2)
}

// Only these change on the way out and back, and the reference says so.
func TestCodecSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := acquire(t, b.DB.Readonly())
	for _, c := range []struct{ what, value, of, rendered, back string }{
		{"lower bounds", "'[0:1]={7,8}'::int[]", "int[]", `[7,8]`, `{7,8}`},
		{"the JSON null in an array", "ARRAY['null'::jsonb, NULL]", "jsonb[]", `[null,null]`, `{NULL,NULL}`},
		{"deeper arrays of JSON", `ARRAY[['{"a":1}'::jsonb]]`, "jsonb[]", `[[{"a":1}]]`, `{"[{\"a\": 1}]"}`},
		{"white space of json", `'{ "a" : 1 }'::json`, "json", `{"a":1}`, `{"a":1}`},
	} {
		printed, err := s.Printed(t.Context(), "SELECT "+c.value, nil)
		require.NoError(t, err)
		rendered, err := s.Values(t.Context(), printed)
		require.NoError(t, err)
		require.Equal(t, c.rendered, string(rendered[0][0]), c.what)
		params, err := s.EncodeParams(t.Context(), "SELECT $1::"+c.of, rendered[0])
		require.NoError(t, err)
		back, err := s.Printed(t.Context(), "SELECT $1::"+c.of, params)
		require.NoError(t, err)
		require.Equal(t, c.back, string(back.Rows[0][0]), c.what)
		// The way around it, for all of them: Postgres' own text is taken as it is.
		text, err := json.Marshal(string(printed.Rows[0][0]))
		require.NoError(t, err)
		params, err = s.EncodeParams(t.Context(), "SELECT $1::"+c.of, []json.RawMessage{text})
		require.NoError(t, err)
		whole, err := s.Printed(t.Context(), "SELECT $1::"+c.of, params)
		require.NoError(t, err)
		require.Equal(t, string(printed.Rows[0][0]), string(whole.Rows[0][0]), c.what)
	}
}

// TestCodecProperty: arrays of any depth, of any text, and any JSON document.
func TestCodecProperty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := acquire(t, b.DB.Readonly())
	c := codec{s: s}
	texts := rapid.StringOf(rapid.RuneFrom([]rune("ab0{}[]()<>,;:=\"\\'` \n\t\r\v/NULnul.-+e$1ä😀\u2028\u00a0\u007f")))
	rapid.Check(t, func(r *rapid.T) {
		depth := rapid.IntRange(1, 6).Draw(r, "depth")
		var bounds string
		lengths := make([]int, depth)
		for i := range lengths {
			lengths[i] = rapid.IntRange(1, 3).Draw(r, "length")
			low := rapid.IntRange(-3, 3).Draw(r, "low")
			bounds += fmt.Sprintf("[%d:%d]", low, low+lengths[i]-1)
		}
		var literal func(d int) string
		literal = func(d int) string {
			if d == depth {
				v := rapid.Ptr(texts, true).Draw(r, "text")
				if v == nil {
					return "NULL"
				}
				return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(*v) + `"`
			}
			items := make([]string, lengths[d])
			for i := range items {
				items[i] = literal(d + 1)
			}
			return "{" + strings.Join(items, ",") + "}"
		}
		c.list(t.Context(), r, "text[]", bounds+"="+literal(0))

		document := rapid.Deferred(func() *rapid.Generator[any] { return documents(texts, 3) }).Draw(r, "document")
		text, err := json.Marshal(document)
		require.NoError(r, err)
		c.list(t.Context(), r, "jsonb", `{"d": `+string(text)+`}`)
	})
}

func documents(texts *rapid.Generator[string], depth int) *rapid.Generator[any] {
	leaf := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e300, 1e300).AsAny(), texts.AsAny(),
	}
	if depth > 0 {
		inner := documents(texts, depth-1)
		leaf = append(leaf, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(texts, inner, 0, 4).AsAny())
	}
	return rapid.OneOf(leaf...)
}

// list holds one value of a type to the promise, modulo lower bounds.
func (c codec) list(ctx context.Context, t require.TestingT, of, text string) {
	sql := "SELECT $1::" + of
	printed, err := c.s.Printed(ctx, sql, [][]byte{[]byte(text)})
	require.NoError(t, err, "%q", text)
	rendered, err := c.s.Values(ctx, printed)
	require.NoError(t, err)
	require.True(t, json.Valid(rendered[0][0]))
	params, err := c.s.EncodeParams(ctx, sql, rendered[0])
	require.NoError(t, err)
	back, err := c.s.Printed(ctx, sql, params)
	require.NoError(t, err)
	want := printed.Rows[0][0]
	if want[0] == '[' {
		_, want, _ = bytes.Cut(want, []byte("]="))
	}
	require.Equal(t, string(want), string(back.Rows[0][0]))
}

// FuzzCodec is TestCodec for texts that nobody thought of. Each worker has a Postgres of its own, which
// ends with it.
func FuzzCodec(f *testing.F) {
	db := pgtemp.New(f)
	names := all(f, db)
	pools, err := postgres.Open(f.Context(), postgres.Options{ReadonlyURL: db.Readonly, WriterURL: db.Writer, MaxConnections: 2})
	require.NoError(f, err)
	f.Cleanup(pools.Close)
	makeTypes(f, db, "types", names)
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	for i, name := range names {
		for _, value := range samples[name] {
			if fuzzing || i%10 == 0 { // TestCodec tries them all
				f.Add(uint8(i), value)
			}
		}
	}
	f.Fuzz(func(t *testing.T, of uint8, value string) {
		s, err := pools.Readonly().Acquire(t.Context())
		require.NoError(t, err)
		defer s.Release()
		name := names[int(of)%len(names)]
		if err := (codec{s: s, schema: "types"}).roundTrip(t.Context(), t, name, value); !errors.Is(err, errNoValue) {
			require.NoError(t, err)
		}
	})
}

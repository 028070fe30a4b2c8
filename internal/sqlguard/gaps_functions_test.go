package sqlguard_test

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

//go:embed gaps_functions.sql
var functionsSQL string

// The classes of the functions of the system, by what the guard answers:
//
//	never     refused whatever the operator's configuration says
//	volatile  refused as volatile, in reads and in conditions
//	reported  volatile and harmless: taken, and in a condition a person decides
//	named     under a read allowlist only with a literal name of a relation that it shows
//	hidden    not under a read allowlist
//	reg       to_regclass and its kin: under a read allowlist literal names only
//	plain     taken always
//
// testdata/functions.txt has every function; see there how each was decided.
var classes = []string{"never", "volatile", "reported", "named", "hidden", "reg", "plain"}

// classify asks the guard about one function in every way that makes a difference.
func classify(t *testing.T, s *server, open, tight, bold *sqlguard.Guard, name string) string {
	t.Helper()
	call := func(arg string) string {
		return fmt.Sprintf("SELECT pg_catalog.%s(%s)", sqlguard.QuoteIdent(name), arg)
	}
	read := func(g *sqlguard.Guard, sql string) error {
		_, err := g.Read(t.Context(), s.Readonly().Catalog(), sql, nil)
		if err != nil {
			r, ok := refusal.As(err)
			require.True(t, ok, "%s: %v", sql, err)
			require.NotEqual(t, refusal.InvalidInput, r.Code, "%s: %v", sql, err)
		}
		return err
	}
	value := "id"
	if name == "current_setting" { // whose own rule is about the name
		value = "'work_mem'"
	}
	where := strings.TrimPrefix(call(value), "SELECT ") + " IS NOT NULL"
	st, whereErr := open.Delete(t.Context(), s.Writer().Catalog(), sqlguard.DeleteSpec{Table: "app.t", Where: where})
	if err := read(open, call(value)+" FROM app.t"); err != nil {
		require.Error(t, whereErr, "a condition takes %s and a read does not", name)
		if read(bold, call(value)+" FROM app.t") == nil {
			return "volatile"
		}
		return "never"
	}
	require.NoError(t, whereErr, "a read takes %s and a condition does not", name)
	literal := func(table string) error { // with the arguments that make it an argument
		args := "'" + table + "'"
		switch {
		case name == "current_setting":
			args = value
		case name == "has_column_privilege":
			args += ", 'id', 'select'"
		case strings.HasPrefix(name, "has_"):
			args += ", 'select'"
		}
		return read(tight, call(args))
	}
	byValue, shown, hid := read(tight, call(value)+" FROM app.t"), literal("app.t"), literal("secret.s")
	kind := "plain"
	switch {
	case byValue == nil:
		require.NoError(t, hid, name)
	case shown == nil && hid == nil:
		kind = "reg"
	case shown == nil:
		kind = "named"
	default:
		kind = "hidden"
	}
	if len(st.Volatile()) > 0 {
		require.Equal(t, []string{"pg_catalog." + name}, st.Volatile())
		require.True(t, st.UnstableWhere())
		if kind == "plain" {
			return "reported"
		}
		return "reported+" + kind
	}
	return kind
}

// Every function of the system that may reach beyond its arguments stands in the table, and the guard does
// with it what the table says. On a newer server the functions it does not know are printed.
func TestEveryFunctionIsClassified(t *testing.T) {
	t.Parallel()
	s := newServer(t, `CREATE SCHEMA app; CREATE SCHEMA secret; GRANT USAGE ON SCHEMA app, secret TO readonly, writer;
		CREATE TABLE app.t (id int); CREATE TABLE secret.s (id int); GRANT SELECT ON app.t, secret.s TO readonly, writer; GRANT DELETE ON app.t TO writer`)
	want := map[string]string{}
	raw, err := os.ReadFile("testdata/functions.txt")
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		class, names, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		for part := range strings.SplitSeq(class, "+") {
			require.Contains(t, classes, part)
		}
		for name := range strings.FieldsSeq(names) {
			require.Empty(t, want[name], "%s stands there twice", name)
			want[name] = class
		}
	}
	open, tight := sqlguard.New(policyOf(t, nil, []string{"app"}, nil)), sqlguard.New(policyOf(t, []string{"app.t"}, nil, nil))
	var unknown, wrong []string
	version := s.pg.Query(t, "SELECT current_setting('server_version_num')::int / 10000")[0][0]
	if version == "14" {
		want["timezone"] = "volatile" // timezone(text, timetz) is marked so there, and overloads share a verdict
	}
	rows := s.pg.Query(t, functionsSQL)
	for names := range slices.Chunk(rows, 400) { // at once, else each costs a round trip
		var q sqlguard.Lookup
		for _, row := range names {
			q.Functions = append(q.Functions, sqlguard.Name{Schema: "pg_catalog", Name: row[0]})
		}
		q.Types = q.Functions // f(x) may be a cast
		for _, pool := range []*postgres.Pool{s.Readonly(), s.Writer()} {
			_, err := pool.Catalog().Lookup(t.Context(), q, false)
			require.NoError(t, err)
		}
	}
	for _, row := range rows {
		name := row[0]
		bold := sqlguard.New(policyOf(t, nil, nil, []string{"pg_catalog." + sqlguard.QuoteIdent(name)}))
		got := classify(t, s, open, tight, bold, name)
		switch class, ok := want[name]; {
		case !ok:
			unknown = append(unknown, got+": "+name)
		case class != got:
			wrong = append(wrong, fmt.Sprintf("%s is %s, not %s", name, got, class))
		}
		delete(want, name)
	}
	slices.Sort(unknown)
	require.Empty(t, wrong)
	if version != "15" {
		t.Logf("not in the table, of Postgres %s: %s", version, strings.Join(unknown, "; "))
		return
	}
	require.Empty(t, unknown, "classify these in testdata/functions.txt")
	require.Empty(t, want, "these do not exist")
}

package sqlguard

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// maskedFake is the fake catalog with customers.email and customers.status masked.
func maskedFake(t testing.TB) (*fakeCatalog, *Guard) {
	t.Helper()
	cat := newFake()
	n := Name{Schema: "public", Name: "customers"}
	rel := cat.relations[n]
	for i := range rel.Columns {
		rel.Columns[i].Number = int16(i + 1)
	}
	rel.Mask = `{"Columns":[{"Number":4,"Mask":1},{"Number":5,"Mask":2}]}`
	cat.relations[n] = rel
	var masks []Mask
	for text, as := range map[string]MaskAs{"public.customers.email": MaskHash} {
		m, err := ParseMask(text, as)
		require.NoError(t, err)
		masks = append(masks, m)
	}
	m, err := ParseMask("public.customers.status", MaskPartial)
	require.NoError(t, err)
	return cat, New(Policy{Write: mustList([]string{"public", "app"}, nil), Masks: append(masks, m)})
}

func TestParseMask(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Mask{
		"app.users.email":               {"app", "users", "email", MaskNull},
		"APP.Users.EMAIL":               {"app", "users", "email", MaskNull},
		`app."Odd.Users"."E-Mail"`:      {"app", "Odd.Users", "E-Mail", MaskNull},
		`"a""b"."c""d"."e""f"`:          {`a"b`, `c"d`, `e"f`, MaskNull},
		"app.users." + long("x", 63):    {"app", "users", long("x", 63), MaskNull},
		`public."Größe"."Straße"`:       {"public", "Größe", "Straße", MaskNull},
		`app.users."email; drop table"`: {"app", "users", "email; drop table", MaskNull},
	} {
		got, err := ParseMask(text, MaskNull)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "email", "users.email", "app . users . email", "app..email", "app.users.", ".users.email", "a.b.c.d", `app.users."email`, `app."users.email`,
		"app.users.*", "app.users.email as x", "app.users.email, app.users.ssn", "app.users." + long("x", 64), `U&"app".users.email`,
		"pg_catalog.pg_class.relname", "information_schema.tables.table_name", "mcp_audit.log.statement", "pg_temp.t.c", "app.users.ctid", "app.users.tableoid", "app.users.\x00",
	} {
		_, err := ParseMask(text, MaskNull)
		require.Error(t, err, text)
	}
	for _, as := range []MaskAs{"", "NULL", "Hash", "blur"} {
		_, err := ParseMask("app.users.email", as)
		require.ErrorContains(t, err, "null, hash, partial")
	}
}

func long(s string, n int) string { return strings.Repeat(s, n) }

// Nothing of a value but what is said comes through a mask.
func TestMaskValues(t *testing.T) {
	t.Parallel()
	m, other := newMasking([]Mask{{"a", "b", "c", MaskHash}}), newMasking([]Mask{{"a", "b", "c", MaskHash}})
	for _, as := range MaskWays() {
		require.Equal(t, "null", string(m.value(as, nil)), "NULL stays null")
	}
	require.Equal(t, "null", string(m.value("unheard of", []byte("x"))), "what is not known hides all")
	for in, want := range map[string]string{
		"": "***", "short": "***", "sevench": "***", "eightcha": "e***", "ann@example.org": "a***", "äöüäöüäö": "ä***",
		`"quoted value"`: "***", `\backslashed`: "***", "\x01control": "***", "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8": "***", "\u2028separator": "***", "12345678": "1***",
	} {
		require.Equal(t, `"`+want+`"`, string(m.value(MaskPartial, []byte(in))), "%q", in)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(rapid.Byte()).Draw(t, "a"), rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		if a == nil {
			a = []byte{}
		}
		if b == nil {
			b = []byte{}
		}
		for _, as := range MaskWays() {
			require.True(t, json.Valid(m.value(as, a)))
		}
		require.Regexp(t, `^"hash:[0-9a-f]{16}"$`, string(m.value(MaskHash, a)))
		require.Equal(t, string(a) == string(b), string(m.value(MaskHash, a)) == string(m.value(MaskHash, b)))
		require.NotEqual(t, m.value(MaskHash, a), other.value(MaskHash, a), "each process has a key of its own")
		require.LessOrEqual(t, len(m.value(MaskPartial, a)), len(`"***"`)+4)
	})
}

// The places where a masked column may stand, and near misses of each.
func TestMaskedColumnsAreRefusedElsewhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT email FROM customers":                                                                 "M",
		"SELECT customers.email FROM customers":                                                       "M",
		"SELECT public.customers.email FROM public.customers":                                         "M",
		"SELECT c.email AS e, c.id FROM customers c":                                                  "Mo",
		"SELECT email FROM customers, orders":                                                         "?",
		"SELECT c.status, o.status FROM customers c, orders o":                                        "Mo",
		"SELECT upper(o.status) FROM customers c, orders o":                                           "o",
		"SELECT o.status FROM customers c, orders o ORDER BY o.status":                                "o",
		"SELECT status FROM customers c, orders o":                                                    "?",
		"SELECT * FROM customers":                                                                     "*",
		"SELECT c.*, 1 FROM customers c":                                                              "*o",
		"SELECT o.* FROM customers c, orders o":                                                       "*",
		"TABLE customers":                                                                             "*",
		"SELECT id FROM customers WHERE email = $1":                                                   "o",
		"SELECT id FROM customers WHERE $1 = customers.email":                                         "o",
		"SELECT id FROM customers WHERE NOT (email = $1 OR status IS NULL)":                           "o",
		"SELECT email = $1, email IS NULL, status IS NOT NULL FROM customers":                         "ooo",
		"SELECT count(*) FROM customers":                                                              "o",
		"SELECT name, email FROM customers ORDER BY name":                                             "oM",
		"SELECT name, email FROM customers ORDER BY 1":                                                "oM",
		"SELECT o.id FROM orders o WHERE EXISTS (SELECT * FROM customers)":                            "o",
		"SELECT id FROM orders WHERE id IN (SELECT id FROM customers)":                                "o",
		"WITH t AS (SELECT id, email = $1 AS e FROM customers) SELECT e FROM t":                       "o",
		"WITH customers AS (SELECT id AS email FROM orders) SELECT lower(email::text) FROM customers": "",
		"SELECT lower(status) FROM orders":                                                            "",
		"SELECT id, email FROM customers GROUP BY id":                                                 "oM",

		"SELECT email FROM customers ORDER BY 1":                                         "refused",
		"SELECT email AS x FROM customers ORDER BY x":                                    "refused",
		"SELECT DISTINCT email FROM customers":                                           "refused",
		"SELECT DISTINCT ON (name) name, email FROM customers":                           "oM",
		"SELECT DISTINCT ON (1) email FROM customers":                                    "refused",
		"SELECT * FROM customers ORDER BY 1":                                             "refused",
		"SELECT (SELECT email FROM customers LIMIT 1)":                                   "refused",
		"SELECT email FROM (SELECT email FROM customers) s":                              "refused",
		"SELECT * FROM (SELECT * FROM customers) s":                                      "refused",
		"SELECT id FROM customers WHERE email = 'x'":                                     "refused",
		"SELECT id FROM customers WHERE email = $1 || ''":                                "refused",
		"SELECT id FROM customers WHERE email IN ($1)":                                   "refused",
		"SELECT id FROM customers WHERE email = ANY($1)":                                 "refused",
		"SELECT id FROM customers WHERE email <> $1":                                     "refused",
		"SELECT id FROM customers WHERE email > $1":                                      "refused",
		"SELECT id FROM customers c WHERE c = $1":                                        "refused",
		"SELECT id FROM customers c WHERE c IS NULL":                                     "refused",
		"SELECT id FROM customers c WHERE c.* IS NULL":                                   "refused",
		"SELECT c FROM customers c":                                                      "refused",
		"SELECT customers FROM customers":                                                "refused",
		"SELECT (c).email FROM customers c":                                              "refused",
		"SELECT o.id FROM orders o JOIN customers c USING (status)":                      "refused",
		"SELECT o.id FROM orders o NATURAL JOIN customers c":                             "refused",
		"SELECT upper(status) FROM customers c, orders o":                                "refused",
		"SELECT x.email FROM (customers c CROSS JOIN orders) AS x":                       "?",
		"SELECT upper(x.email) FROM (customers c CROSS JOIN orders) AS x":                "refused",
		"SELECT x FROM (customers c CROSS JOIN orders) AS x":                             "refused",
		"SELECT x.b FROM (customers c CROSS JOIN orders) AS x(a, b)":                     "refused",
		"SELECT b FROM customers AS c(a, b)":                                             "refused",
		"SELECT email FROM customers UNION SELECT note FROM products":                    "refused",
		"SELECT 1 WHERE EXISTS (SELECT * FROM customers GROUP BY 1 HAVING count(*) > 1)": "refused",
		"SELECT steady() FROM customers":                                                 "no function",
		"SELECT app.steady() FROM orders":                                                "no function",
	} {
		cat, g := maskedFake(t)
		var params []json.RawMessage
		if strings.Contains(text, "$1") {
			params = []json.RawMessage{json.RawMessage(`"x"`)}
		}
		st, err := g.Read(context.Background(), cat, text, params)
		switch want {
		case "refused":
			requireCode(t, refusal.MaskedColumn, err)
			continue
		case "no function":
			require.Error(t, err, text)
			require.False(t, refusal.Is(err, refusal.MaskedColumn), text)
			continue
		}
		require.NoError(t, err, text)
		got := ""
		for _, o := range st.Outputs() {
			got += string("o?M*"[o])
		}
		require.Equal(t, want, got, text)
		require.True(t, st.Masking())
		require.Equal(t, want != "", st.Masks(), text)
	}
}

// Whatever expression a masked column is put into, it is refused; without masks the same text passes or fails
// for other reasons. The texts are made at random from a grammar of wrappers.
func TestMaskedColumnsInRandomExpressions(t *testing.T) {
	t.Parallel()
	wraps := []string{
		"lower(%)", "(% || 'x')", "(%)::text", "coalesce(%, 'x')", "CASE WHEN true THEN % END", "ARRAY[%]", "ROW(%)", "nullif(%, 'x')",
		"(SELECT %)", "jsonb_build_object('k', %)", "(% > 'a')", "(% LIKE 'a%%')", "(% IN ('a', 'b'))", "(% = 'a')", "(% COLLATE \"C\")", "greatest(%, 'a')",
	}
	places := []string{
		"SELECT % FROM customers c", "SELECT 1 FROM customers c WHERE (%) IS NOT NULL AND true", "SELECT 1 FROM customers c ORDER BY %", "SELECT 1 FROM customers c GROUP BY %",
		"SELECT count(*) FILTER (WHERE % IS NULL) FROM customers c", "SELECT 1 FROM orders o JOIN customers c ON % IS NULL", "SELECT 1 FROM customers c LIMIT (SELECT length(%::text))",
		"WITH t AS (SELECT % AS x FROM customers c) SELECT x FROM t", "SELECT 1 FROM customers c, LATERAL (SELECT %) s", "SELECT % FROM customers c UNION SELECT NULL",
		"SELECT row_number() OVER (ORDER BY %) FROM customers c", "VALUES ((SELECT % FROM customers c))",
	}
	refs := []string{"email", "c.email", `c."email"`, "C.EMAIL", `U&"em\0061il"`, "c", "c.status", "status"}
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(refs).Draw(t, "ref")
		for range rapid.IntRange(1, 3).Draw(t, "depth") {
			e = strings.ReplaceAll(strings.ReplaceAll(rapid.SampledFrom(wraps).Draw(t, "wrap"), "%%", "\x00"), "%", e)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(rapid.SampledFrom(places).Draw(t, "place"), "%", e), "\x00", "%")
		cat := newFake()
		n := Name{Schema: "public", Name: "customers"}
		rel := cat.relations[n]
		for i := range rel.Columns {
			rel.Columns[i].Number = int16(i + 1)
		}
		rel.Mask = `{"Columns":[{"Number":4,"Mask":1},{"Number":5,"Mask":1}]}`
		cat.relations[n] = rel
		g := New(Policy{Masks: []Mask{{"public", "customers", "email", MaskNull}}})
		st, err := g.Read(context.Background(), cat, text, nil)
		require.Error(t, err, "%s: %v", text, st)
		r, ok := refusal.As(err)
		require.True(t, ok, "%v", err)
		require.Contains(t, []refusal.Code{refusal.MaskedColumn, refusal.InvalidInput}, r.Code, "%s: %s", text, r.Message)
		if r.Code == refusal.InvalidInput { // a name that the fake does not have, never a masked column that passes
			require.NotContains(t, r.Message, "customers", text)
		}
	})
}

// Relations that are closed as a whole.
func TestMaskedRelations(t *testing.T) {
	t.Parallel()
	for mask, says := range map[string]string{
		`{"Broken":[1]}`: "public.customers.email", `{"Reads":true}`: "reads a masked column", `not JSON`: "reads a masked column",
		`{"Calls":[{"Schema":"app","Name":"steady"}]}`: "app.steady",
	} {
		cat, g := maskedFake(t)
		n := Name{Schema: "public", Name: "orders"}
		rel := cat.relations[n]
		rel.Mask = mask
		cat.relations[n] = rel
		ctx := context.Background()
		for what, try := range map[string]func() (*Statement, error){
			"query":  func() (*Statement, error) { return g.Read(ctx, cat, "SELECT id FROM orders", nil) },
			"inside": func() (*Statement, error) { return g.Read(ctx, cat, "SELECT 1 WHERE EXISTS (SELECT FROM orders)", nil) },
			"delete": func() (*Statement, error) {
				return g.Delete(ctx, cat, DeleteSpec{Table: "orders", Where: "id = 1"})
			},
			"insert": func() (*Statement, error) {
				return g.Insert(ctx, cat, InsertSpec{Table: "orders", Columns: []string{"id"}, Rows: [][]json.RawMessage{{json.RawMessage("1")}}})
			},
			"migration": func() (*Statement, error) {
				return g.Migration(ctx, cat, "CREATE VIEW public.x AS SELECT id FROM orders")
			},
		} {
			_, err := try()
			requireCode(t, refusal.MaskedColumn, err)
			require.ErrorContains(t, err, says, what)
		}
	}
}

// Two masks that meet in one column: the stricter one holds.
func TestStricterMask(t *testing.T) {
	t.Parallel()
	list := []Mask{{"a", "p", "c", MaskPartial}, {"a", "h", "c", MaskHash}, {"a", "n", "c", MaskNull}}
	for text, want := range map[string]MaskAs{
		`{"Columns":[{"Number":1,"Mask":1}]}`:                       MaskPartial,
		`{"Columns":[{"Number":1,"Mask":1},{"Number":1,"Mask":2}]}`: MaskHash,
		`{"Columns":[{"Number":1,"Mask":3},{"Number":1,"Mask":1}]}`: MaskNull,
		`{"Columns":[{"Number":1,"Mask":99}]}`:                      MaskNull,
	} {
		require.Equal(t, want, ColumnMasks(list, text)[1], text)
	}
}

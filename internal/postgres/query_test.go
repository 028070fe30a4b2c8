package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

func raws(params ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, p := range params {
		out = append(out, json.RawMessage(p))
	}
	return out
}

func guarded(t *testing.T, p *postgres.Pool, sql string, params ...string) *sqlguard.Statement {
	t.Helper()
	st, err := sqlguard.New(sqlguard.Policy{}).Read(t.Context(), p.Catalog(), sql, raws(params...))
	require.NoError(t, err, sql)
	return st
}

func query(t *testing.T, b *bundle, l postgres.QueryLimits, sql string, params ...string) (*postgres.QueryResult, error) {
	t.Helper()
	return b.DB.Readonly().Query(t.Context(), guarded(t, b.DB.Readonly(), sql, params...), l)
}

func mustQuery(t *testing.T, b *bundle, sql string, params ...string) *postgres.QueryResult {
	t.Helper()
	r, err := query(t, b, postgres.QueryLimits{}, sql, params...)
	require.NoError(t, err, sql)
	return r
}

// asJSON is the rows as one JSON text.
func asJSON(t *testing.T, r *postgres.QueryResult) string {
	t.Helper()
	out, err := json.Marshal(r.Rows)
	require.NoError(t, err)
	return string(out)
}

func TestQueryValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `
		ALTER ROLE readonly IN DATABASE "`+b.PG.Name+`" SET DateStyle = 'SQL, DMY';
		ALTER ROLE readonly IN DATABASE "`+b.PG.Name+`" SET bytea_output = 'escape';
		ALTER ROLE readonly IN DATABASE "`+b.PG.Name+`" SET extra_float_digits = '-5';
		ALTER ROLE readonly IN DATABASE "`+b.PG.Name+`" SET TimeZone = 'America/Chicago'`)
	for _, c := range []struct{ sql, want, types string }{
		{"SELECT true, false, NULL::bool", `true,false,null`, "boolean"},
		{"SELECT 1::int2, -2::int4, 2147483647", `1,-2,2147483647`, "smallint,integer,integer"},
		{"SELECT 9007199254740993::bigint, '-9223372036854775808'::bigint, 1::bigint", `"9007199254740993","-9223372036854775808","1"`, "bigint,bigint,bigint"},
		{"SELECT 1.50::numeric, 'NaN'::numeric, 12345678901234567890.10::numeric", `"1.50","NaN","12345678901234567890.10"`, ""},
		{"SELECT 1.5::real, 0.1::float8, 1e300::float8, -0.0::float8, 1e-7::float8", `1.5,0.1,1e+300,-0,1e-07`, ""},
		{"SELECT 'NaN'::float8, 'Infinity'::float4, '-Infinity'::float8, ARRAY['NaN'::float8, 1]", `"NaN","Infinity","-Infinity",["NaN",1]`, ""},
		{"SELECT 12.30::money", `"$12.30"`, "money"},
		{
			`SELECT '{"a": 9007199254740993.10,  "b":[1,null]}'::json, '{"b":1, "a":1.10}'::jsonb, 'null'::jsonb, '"x"'::jsonb`,
			`{"a":9007199254740993.10,"b":[1,null]},{"a":1.10,"b":1},null,"x"`, "json,jsonb,jsonb,jsonb",
		},
		{"SELECT '{\"a\":\n1}'::json", `{"a":1}`, ""},
		{"SELECT '{}'::int[], '{1}'::int[], NULL::int[], '{{1,2},{3,NULL}}'::int[]", `[],[1],null,[[1,2],[3,null]]`, "integer[]"},
		{"SELECT '[0:1]={7,8}'::int[], ARRAY[9007199254740993], ARRAY[1.10::numeric]", `[7,8],["9007199254740993"],["1.10"]`, ""},
		{`SELECT ARRAY['a','NULL',NULL,'','x,y','q"\z{}']`, `["a","NULL",null,"","x,y","q\"\\z{}"]`, "text[]"},
		{`SELECT ARRAY['{"a": 1}'::jsonb, 'null', '[1, 2]']`, `[{"a":1},null,[1,2]]`, "jsonb[]"},
		{"SELECT '{(1,2),(3,4);(5,6),(7,8)}'::box[]", `["(3,4),(1,2)","(7,8),(5,6)"]`, "box[]"},
		{`SELECT '\xdeadbeef'::bytea, ARRAY['\x00'::bytea]`, `"\\xdeadbeef",["\\x00"]`, "bytea,bytea[]"},
		{"SELECT '2026-01-01 12:00:00.123456'::timestamp, '2026-01-02'::date, '12:00:00.5'::time", `"2026-01-01 12:00:00.123456","2026-01-02","12:00:00.5"`, ""},
		{"SELECT '2026-01-01 12:00+00'::timestamptz, 'infinity'::timestamp", `"2026-01-01 06:00:00-06","infinity"`, ""},
		{"SELECT '1 day 02:00'::interval, int4range(1,3), 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, '10.0.0.1'::inet", `"1 day 02:00:00","[1,3)","a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","10.0.0.1"`, ""},
		{"SELECT 'x' k, count(*) FROM generate_series(1,3) GROUP BY 1", `"x","3"`, "text,bigint"},
		{"SELECT '1 2'::int2vector, ROW(1,'a',NULL), 'x'::name, 26::oid", `"1 2","(1,a,)","x","26"`, ""},
		{`SELECT E'a\tb\u0001\u2028"\\<>&ü😀'`, `"a\tb\u0001\u2028\"\\<>&ü😀"`, ""},
		{"SELECT ARRAY[[true],[NULL::bool]]", `[[true],[null]]`, ""},
	} {
		r := mustQuery(t, b, c.sql)
		require.Len(t, r.Rows, 1, c.sql)
		var got []string
		for _, v := range r.Rows[0] {
			require.True(t, json.Valid(v), "%s: %s", c.sql, v)
			got = append(got, string(v))
		}
		require.Equal(t, c.want, strings.Join(got, ","), c.sql)
		if strings.Count(c.types, ",")+1 == len(r.Types) && c.types != "" {
			require.Equal(t, c.types, strings.Join(r.Types, ","), c.sql)
		}
	}
}

// Types that come into being after the pool connected work without a restart.
func TestQueryValuesOfLaterTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mustQuery(t, b, "SELECT 1")
	b.PG.Exec(t, `
		CREATE TYPE mood AS ENUM ('sad', 'it''s, "ok"');
		CREATE DOMAIN small AS int CHECK (VALUE < 100);
		CREATE DOMAIN smaller AS small;
		CREATE DOMAIN moods AS mood[];
		CREATE TYPE pair AS (a int, b text);
		CREATE TABLE later (m mood, ms mood[], s smaller, ss smaller[], md moods, p pair, ps pair[], j jsonb[]);
		INSERT INTO later VALUES ('sad', ARRAY['sad', 'it''s, "ok"']::mood[], 7, ARRAY[7, NULL]::smaller[], ARRAY['sad']::mood[],
			ROW(1, 'x y'), ARRAY[ROW(1, 'x,"y"')::pair, NULL], ARRAY['{"a":1}'::jsonb]);
		GRANT SELECT ON later TO readonly`)
	r := mustQuery(t, b, "SELECT * FROM later WHERE m = $1", `"sad"`)
	require.Equal(t, `[["sad",["sad","it's, \"ok\""],7,[7,null],["sad"],"(1,\"x y\")",["(1,\"x,\"\"y\"\"\")",null],[{"a":1}]]]`, asJSON(t, r))
	require.Equal(t, []string{"mood", "mood[]", "integer", "smaller[]", "mood[]", "pair", "pair[]", "jsonb[]"}, r.Types)
}

func TestQueryParams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `
		CREATE TYPE colour AS ENUM ('red', 'blue');
		CREATE TABLE p (id bigint, n numeric, j jsonb, js json, u uuid, tags text[], nums int[], cs colour[], js2 jsonb[], boxes box[], dj jsonb, ts timestamptz);
		INSERT INTO p VALUES (9007199254740993, 1.10, '{"a":1}', '[1]', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
			ARRAY['x,y', 'q"\'], '{1,NULL}', '{red}', ARRAY['{"k":"v"}'::jsonb, '"s"'], '{(1,1),(0,0);(2,2),(1,1)}', '[1,2]', '2026-01-01 00:00+00');
		GRANT SELECT ON p TO readonly`)
	for _, c := range []struct {
		where  string
		params []string
		rows   int
	}{
		{"id = $1", []string{`"9007199254740993"`}, 1},
		{"id = $1", []string{`9007199254740993`}, 1},
		{"id = $1", []string{`"9007199254740992"`}, 0},
		{"id = $1", []string{`null`}, 0},
		{"n = $1", []string{`1.1`}, 1},
		{"j = $1", []string{`{"a": 1}`}, 1},
		{"j = $1", []string{`"{\"a\":1}"`}, 1},
		{"dj = $1", []string{`[1, 2]`}, 1},
		{"u = $1", []string{`"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`}, 1},
		{"tags = $1", []string{`["x,y", "q\"\\"]`}, 1},
		{"nums = $1", []string{`[1, null]`}, 1},
		{"id = any($1)", []string{`["9007199254740993", 1]`}, 1},
		{"cs = $1", []string{`["red"]`}, 1},
		{"js2 = $1", []string{`[{"k":"v"}, "s"]`}, 1},
		{"boxes[2] ~= ($1::box[])[2]", []string{`["(1,1),(0,0)", "(2,2),(1,1)"]`}, 1},
		{"ts = $1 and $2", []string{`"2026-01-01 00:00+00"`, `true`}, 1},
		{"cardinality($1::text[]) = 0", []string{`[]`}, 1},
		{"cardinality($1::int[][]) = 4", []string{`[[1,2],[3,4]]`}, 1},
		{"$1::text = $2", []string{`"\ud83d\ude00\u00e9"`, `"😀é"`}, 1},
	} {
		r := mustQuery(t, b, "SELECT id FROM p WHERE "+c.where, c.params...)
		require.Len(t, r.Rows, c.rows, "%s %v", c.where, c.params)
	}

	// Values read can be given back.
	read := mustQuery(t, b, "SELECT id, n, j, js, u, tags, nums, cs, js2, ts FROM p")
	var back []string
	for _, v := range read.Rows[0] {
		back = append(back, string(v))
	}
	r := mustQuery(t, b, `SELECT 1 FROM p WHERE id = $1 AND n = $2 AND j = $3 AND js::text = $4::json::text AND u = $5 AND tags = $6
		AND nums = $7 AND cs = $8 AND js2 = $9 AND ts = $10`, back...)
	require.Len(t, r.Rows, 1)

	for _, c := range []struct{ where, param, word string }{
		{"$1::text IS NULL", `"a\u0000b"`, "U+0000"},
		{"$1::text IS NULL", `"\ud800"`, "surrogate"},
		{"$1::text IS NULL", `"\udc00x"`, "surrogate"},
		{"$1::text IS NULL", `"\ud83dabc"`, "surrogate"},
		{"$1::text IS NULL", "\"\xff\"", "UTF-8"},
		{"tags = $1", `["a\u0000"]`, "U+0000"},
		{"tags = $1", `[[[[[[[1]]]]]]]`, "nested"},
	} {
		st := guarded(t, b.DB.Readonly(), "SELECT 1 FROM p WHERE "+c.where, c.param)
		_, err := b.DB.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
		require.True(t, refusal.Is(err, refusal.InvalidInput), "%s: %v", c.param, err)
		require.ErrorContains(t, err, c.word)
	}
}

func TestQueryLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n, truncated := range map[int]bool{9: false, 10: false, 11: true} {
		r, err := query(t, b, postgres.QueryLimits{Rows: 10}, fmt.Sprintf("SELECT g FROM generate_series(1,%d) g", n))
		require.NoError(t, err)
		require.Len(t, r.Rows, min(n, 10))
		require.Equal(t, truncated, r.Truncated, n)
		require.Empty(t, r.Shortened)
	}

	r := mustQuery(t, b, "SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a")
	require.Equal(t, []string{"a", "a_3", "a_2", "a_4"}, r.Columns)
	require.Equal(t, "[[1,2,3,4]]", asJSON(t, r))

	r = mustQuery(t, b, "SELECT FROM generate_series(1,3)")
	require.Empty(t, r.Columns)
	require.Len(t, r.Rows, 3)
	r = mustQuery(t, b, "SELECT 1 WHERE false")
	require.Equal(t, []string{"?column?"}, r.Columns)
	require.Equal(t, []string{"integer"}, r.Types)
	require.Empty(t, r.Rows)

	// A long cell is cut at a character and says so; nothing is dropped.
	r = mustQuery(t, b, "SELECT 1 AS id, repeat('ä', 100000) AS long, 'b' AS short")
	require.Equal(t, []string{"long"}, r.Shortened)
	require.False(t, r.Truncated)
	var cell string
	require.NoError(t, json.Unmarshal(r.Rows[0][1], &cell))
	require.True(t, strings.HasSuffix(cell, "ä… (200000 bytes)"), cell[len(cell)-30:])
	require.LessOrEqual(t, len(cell), 64<<10+30)
	require.Equal(t, `"b"`, string(r.Rows[0][2]))

	// Exactly at the limit a cell is whole.
	r = mustQuery(t, b, "SELECT repeat('x', 65536)")
	require.Empty(t, r.Shortened)
	require.Len(t, r.Rows[0][0], 65536+2)

	// 20 rows of 200 kB: fewer rows, shortened cells, bounded.
	r, err := query(t, b, postgres.QueryLimits{Bytes: 1 << 20}, "SELECT g, repeat('x', 200000) AS t FROM generate_series(1,20) g")
	require.NoError(t, err)
	require.True(t, r.Truncated)
	require.NotEmpty(t, r.Rows)
	require.Less(t, len(r.Rows), 20)
	require.LessOrEqual(t, len(asJSON(t, r)), 1<<20)
	require.Contains(t, r.Hint, "query.maxBytes")
	require.Equal(t, []string{"t"}, r.Shortened)

	// One row that is too much in itself is still shown.
	r, err = query(t, b, postgres.QueryLimits{Bytes: 100_000}, "SELECT repeat('x', 30000000) AS a, repeat('y', 30000000) AS b")
	require.NoError(t, err)
	require.Len(t, r.Rows, 1)
	require.False(t, r.Truncated)
	require.Equal(t, []string{"a", "b"}, r.Shortened)
	require.LessOrEqual(t, len(asJSON(t, r)), 100_000)

	// Escapes make JSON longer than its text; the bound holds for what goes out.
	r, err = query(t, b, postgres.QueryLimits{Bytes: 50_000}, `SELECT repeat(E'\u0001', 5000) FROM generate_series(1, 100)`)
	require.NoError(t, err)
	require.True(t, r.Truncated)
	require.LessOrEqual(t, len(asJSON(t, r)), 50_000)

	// One row beyond what is taken into memory at all.
	_, err = query(t, b, postgres.QueryLimits{}, "SELECT repeat('x', 100000000)")
	require.True(t, refusal.Is(err, refusal.QueryFailed), "%v", err)
	require.ErrorContains(t, err, "64 MB")
	mustQuery(t, b, "SELECT 1")
}

func TestQueryErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `CREATE TABLE e (id int); INSERT INTO e VALUES (1); GRANT SELECT ON e TO readonly;
		CREATE TABLE hidden (id int)`)
	for _, c := range []struct {
		sql  string
		code refusal.Code
		word string
	}{
		{"SELECT nope FROM e", refusal.QueryFailed, "SQLSTATE 42703, at character 8"},
		{"SELECT 1/0", refusal.QueryFailed, "SQLSTATE 22012"},
		{"SELECT 1/(3-g) FROM generate_series(1,5) g", refusal.QueryFailed, "22012"},
		{"SELECT * FROM hidden", refusal.QueryFailed, "42501"},
		{"SELECT 'x'::int", refusal.QueryFailed, "22P02"},
		{"SELECT 'ä' , nope", refusal.QueryFailed, "at character 14"},
	} {
		_, err := query(t, b, postgres.QueryLimits{}, c.sql)
		require.True(t, refusal.Is(err, c.code), "%s: %v", c.sql, err)
		require.ErrorContains(t, err, c.word, c.sql)
		r, _ := refusal.As(err)
		require.NotEmpty(t, r.Hint)
	}
	start := time.Now()
	_, err := query(t, b, postgres.QueryLimits{Timeout: 200 * time.Millisecond}, "SELECT pg_sleep(10)")
	require.True(t, refusal.Is(err, refusal.StatementTimeout), "%v", err)
	require.ErrorContains(t, err, "query.statementTimeoutMs")
	require.Less(t, time.Since(start), 8*time.Second)
}

func TestQueryCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	st := guarded(t, b.DB.Readonly(), "SELECT pg_sleep(60)")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := b.DB.Readonly().Query(ctx, st, postgres.QueryLimits{Timeout: time.Minute})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 30*time.Second)
	require.Equal(t, "0", b.PG.Query(t, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND state = 'active' AND pid <> pg_backend_pid()")[0][0])
	mustQuery(t, b, "SELECT 1")
}

func TestExplain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, "CREATE TABLE x (id int PRIMARY KEY); GRANT SELECT ON x TO readonly")
	plan, err := b.DB.Readonly().Explain(t.Context(), guarded(t, b.DB.Readonly(), "SELECT * FROM x WHERE id = $1", "5"), time.Second, everything)
	require.NoError(t, err)
	var nodes []struct {
		Plan map[string]any `json:"Plan"`
	}
	require.NoError(t, json.Unmarshal(plan.Plan, &nodes))
	require.Len(t, nodes, 1)
	require.Contains(t, nodes[0].Plan, "Total Cost")

	_, err = b.DB.Readonly().Explain(t.Context(), guarded(t, b.DB.Readonly(), "SELECT nope FROM x"), time.Second, everything)
	require.True(t, refusal.Is(err, refusal.ExplainFailed), "%v", err)
	require.ErrorContains(t, err, "at character 8")
}

// What compiling a long expression takes is bounded by nothing, so nothing is compiled, whatever the role
// says. A plan's costs do not depend on it: Postgres decides to compile when the plan is made.
func TestReadsAreNotCompiled(t *testing.T) {
	t.Parallel()
	b := setup(t, func(db *pgtemp.DB, _ *postgres.Options) {
		db.Exec(t, fmt.Sprintf("ALTER ROLE readonly IN DATABASE %q SET jit = on", db.Name))
		db.Exec(t, fmt.Sprintf("ALTER ROLE readonly IN DATABASE %q SET jit_above_cost = 0", db.Name))
		db.Exec(t, "CREATE TABLE x AS SELECT g AS id, g % 7 AS k FROM generate_series(1, 5000) g; ANALYZE x; GRANT SELECT ON x TO readonly")
	})
	require.Equal(t, `[["off"]]`, asJSON(t, mustQuery(t, b, "SELECT current_setting('jit')")))

	const sql = "SELECT k, count(*) FROM x WHERE id > 17 GROUP BY k ORDER BY 2"
	plan, err := b.DB.Readonly().Explain(t.Context(), guarded(t, b.DB.Readonly(), sql), time.Second, everything)
	require.NoError(t, err)
	require.NotContains(t, string(plan.Plan), "JIT")
	cost := func(plan string) any {
		var nodes []struct {
			Plan map[string]any `json:"Plan"`
		}
		require.NoError(t, json.Unmarshal([]byte(plan), &nodes))
		return nodes[0].Plan["Total Cost"]
	}
	replies, err := acquire(t, b.DB.Readonly()).Flush(t.Context(), seg("EXPLAIN (FORMAT JSON) "+sql, "SELECT pg_jit_available()"))
	require.NoError(t, err)
	require.Nil(t, replies[0].Err)
	compiled := string(replies[0].Results[0].Rows[0][0])
	if string(replies[0].Results[1].Rows[0][0]) == "t" { // not every build has it
		require.Contains(t, compiled, "JIT")
	}
	require.Equal(t, cost(compiled), cost(string(plan.Plan)))
}

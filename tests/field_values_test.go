package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// What people who run such servers reported about values, each held for the whole kind of fault: out by
// query, by every preview and on the page; in by params, rows and set.

// value is one value of one column: its type, its text as Postgres takes it, and the JSON that it is.
type value struct {
	of, text, want string
	given          string // what to give for it where that is not what was read
}

func (v value) in() json.RawMessage {
	if v.given != "" {
		return json.RawMessage(v.given)
	}
	return json.RawMessage(v.want)
}

// field is a server on which every plan waits, in a zone that is not the database's.
func field(t *testing.T, sql string) *server {
	t.Helper()
	db := pgtemp.New(t)
	db.Exec(t, `CREATE SCHEMA app AUTHORIZATION migrator; GRANT USAGE ON SCHEMA app TO readonly, writer; SET ROLE migrator;
		ALTER DEFAULT PRIVILEGES IN SCHEMA app GRANT SELECT ON TABLES TO readonly;
		ALTER DEFAULT PRIVILEGES IN SCHEMA app GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO writer; SET search_path = app;`+sql)
	o := everyPlanWaits()
	o.env = map[string]string{"TZ": "America/Chicago"}
	return start(t, db, o)
}

// everywhere sends the values through every way in and out. Types of theirs may come into being here,
// after the server connected.
func (s *server) everywhere(ddl string, values ...value) {
	s.t.Helper()
	t := s.t
	t.Helper()
	s.call("query", args{"statement": "SELECT 1 AS one", "reason": "t"}).ok(t, nil) // it has connected
	var defs, names, exprs, same []string
	var in []any
	set := args{}
	for i, v := range values {
		name := fmt.Sprintf("v%d", i)
		defs = append(defs, name+" "+v.of)
		names = append(names, name)
		exprs = append(exprs, "'"+strings.ReplaceAll(v.text, "'", "''")+"'::"+v.of)
		same = append(same, fmt.Sprintf("%s::text = ($%d::%s)::text", name, i+1, v.of))
		in = append(in, v.in())
		set[name] = v.in()
	}
	db := s.db
	db.Exec(t, "SET ROLE migrator; SET search_path = app, public;"+ddl+"; CREATE TABLE app.v (id int PRIMARY KEY, "+strings.Join(defs, ", ")+
		"); INSERT INTO app.v VALUES (1, "+strings.Join(exprs, ", ")+"); INSERT INTO app.v (id) VALUES (2)")
	condition := strings.Join(same, " AND ")
	stored := func(id int) []string {
		return db.Query(t, "SELECT "+strings.Join(names, "::text, ")+"::text FROM app.v WHERE id = "+strconv.Itoa(id))[0]
	}
	right := func(where string, row json.RawMessage) {
		t.Helper()
		var got map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(row, &got), where)
		for i, v := range values {
			require.Equal(t, v.want, string(got[names[i]]), "%s: %s %s", where, v.of, v.text)
		}
	}

	// Out, and in again as parameters.
	right("query", s.rows("SELECT * FROM app.v WHERE id = 1")[0])
	require.Len(t, s.rows("SELECT id FROM app.v WHERE "+condition, in...), 1, "query by params")

	// In by rows; the preview, the page and the table agree.
	p := s.preview("insert_rows", args{"table": "app.v", "columns": append([]string{"id"}, names...), "rows": []any{append([]any{3}, in...)}, "reason": "t"})
	right("insert preview", p.Sample[0])
	s.onPage(p, values)
	s.approve(p.Token)
	s.execute(p)
	require.Equal(t, stored(1), stored(3), "insert")

	// In by set.
	p = s.preview("update_rows", args{"table": "app.v", "set": set, "where": "id = 2", "reason": "t"})
	right("update preview", p.Sample[0])
	var changes []struct{ Before, After json.RawMessage }
	require.NoError(t, json.Unmarshal(p.Changes, &changes))
	right("changes", changes[0].After)
	s.onPage(p, values)
	s.approve(p.Token)
	s.execute(p)
	require.Equal(t, stored(1), stored(2), "update")

	// In by the parameters of a condition.
	p = s.preview("delete_rows", args{"table": "app.v", "where": "id < 3 AND " + condition, "params": in, "reason": "t"})
	require.EqualValues(t, 2, p.Affected)
	right("delete preview", p.Sample[0])
	s.onPage(p, values)
	s.approve(p.Token)
	s.execute(p)
	require.Equal(t, 1, number(t, db, "SELECT count(*) FROM app.v"))
	db.Exec(t, "DROP TABLE app.v")
}

// rows runs a query.
func (s *server) rows(statement string, params ...any) []json.RawMessage {
	s.t.Helper()
	var got struct {
		Rows []json.RawMessage `json:"rows"`
	}
	if params == nil {
		params = []any{}
	}
	s.call("query", args{"statement": statement, "params": params, "reason": "t"}).ok(s.t, &got)
	return got.Rows
}

// onPage holds the first sample row of a waiting plan, as the page gets it, to the values. The page shows
// texts, so that no browser parses a number.
func (s *server) onPage(p preview, values []value) {
	s.t.Helper()
	a := s.get("/api/plans")
	require.Equal(s.t, http.StatusOK, a.status)
	var list struct {
		Plans []struct {
			Token   string `json:"plan_token"`
			Samples struct {
				Columns []string `json:"columns"`
				Rows    [][]struct {
					Type string `json:"t"`
					Text string `json:"v"`
				} `json:"rows"`
			} `json:"sample_rows"`
		} `json:"plans"`
	}
	require.NoError(s.t, json.Unmarshal(a.body, &list))
	for _, plan := range list.Plans {
		if plan.Token != p.Token {
			continue
		}
		for i, v := range values {
			want, kind := v.want, ""
			switch {
			case want[0] == '"':
				require.NoError(s.t, json.Unmarshal([]byte(v.want), &want))
				kind = "text"
			case want == "null":
				want, kind = "", "null"
			}
			cell := plan.Samples.Rows[0][1+i]
			require.Equal(s.t, fmt.Sprintf("v%d", i), plan.Samples.Columns[1+i])
			require.Equal(s.t, want, cell.Text, "the page: %s %s", v.of, v.text)
			if kind != "" {
				require.Equal(s.t, kind, cell.Type)
			}
		}
		return
	}
	s.t.Errorf("the page does not show plan %s", p.Token)
}

// A1, A18: digits survive a client that reads numbers as float64, and ids are found again by the string and
// by the number.
func TestFieldA01EveryDigitSurvives(t *testing.T) {
	t.Parallel()
	s := field(t, "CREATE TABLE ids (id bigint PRIMARY KEY, n numeric); INSERT INTO ids VALUES (9007199254740992, 1), (9007199254740993, 2), (9007199254740994, 3)")
	s.everywhere("",
		value{of: "bigint", text: "9007199254740993", want: `"9007199254740993"`},
		value{of: "bigint", text: "-9223372036854775808", want: `"-9223372036854775808"`},
		value{of: "bigint", text: "1", want: `"1"`},
		value{of: "numeric", text: "12345678901234567890.123456789012345678900", want: `"12345678901234567890.123456789012345678900"`},
		value{of: "int", text: "-2147483648", want: `-2147483648`},
		value{of: "smallint", text: "7", want: `7`},
		value{of: "bigint[]", text: "{9007199254740993,NULL}", want: `["9007199254740993",null]`},
		value{of: "int8range", text: "[9007199254740993,9223372036854775807)", want: `"[9007199254740993,9223372036854775807)"`},
		value{of: "jsonb", text: `{"n": 1.10, "id": 9007199254740993}`, want: `{"n":1.10,"id":9007199254740993}`},
	)
	for _, id := range []string{`"9007199254740993"`, `9007199254740993`} {
		var p preview
		s.call("delete_rows", json.RawMessage(`{"table": "app.ids", "where": "id = $1", "params": [`+id+`], "reason": "t"}`)).ok(t, &p)
		require.EqualValues(t, 1, p.Affected, id)
		require.JSONEq(t, `{"id": "9007199254740993", "n": "2"}`, string(p.Sample[0]))
		require.JSONEq(t, `["9007199254740993"]`, string(mustJSON(t, p.Params)), "the echo is one that a float64 cannot round")
	}
}

// A2
func TestFieldA02Aggregates(t *testing.T) {
	t.Parallel()
	s := field(t, "")
	require.JSONEq(t, `{"k": "x", "count": "3"}`, string(s.rows("select 'x' k, count(*) from generate_series(1,3) group by 1")[0]))
	require.JSONEq(t, `{"sum": "6", "avg": "2.0000000000000000", "max": 3, "array_agg": [1,2,3], "bool_and": true, "json_agg": [1,2,3], "string_agg": "1,2,3"}`,
		string(s.rows("select sum(g), avg(g), max(g), array_agg(g), bool_and(g > 0), json_agg(g), string_agg(g::text, ',') from generate_series(1,3) g")[0]))
	require.JSONEq(t, `{"sum": null, "count": "0", "array_agg": null}`, string(s.rows("select sum(g), count(g), array_agg(g) from generate_series(1,0) g")[0]))
}

// A4, A6: what is no JSON number comes as text, and none is lost.
func TestFieldA04DecimalsAndA06NotANumber(t *testing.T) {
	t.Parallel()
	s := field(t, "")
	s.everywhere("",
		value{of: "numeric", text: "1.5", want: `"1.5"`}, value{of: "real", text: "1.5", want: `1.5`},
		value{of: "float8", text: "1.5", want: `1.5`}, value{of: "money", text: "12.30", want: `"$12.30"`},
		value{of: "numeric(10,4)", text: "1.1", want: `"1.1000"`}, value{of: "float8", text: "0.1", want: `0.1`}, value{of: "float8", text: "1e300", want: `1e+300`},
	)
	s.everywhere("",
		value{of: "float8", text: "NaN", want: `"NaN"`}, value{of: "float4", text: "Infinity", want: `"Infinity"`},
		value{of: "float8", text: "-Infinity", want: `"-Infinity"`}, value{of: "float8[]", text: "{NaN,1,-Infinity,NULL}", want: `["NaN",1,"-Infinity",null]`},
		value{of: "numeric", text: "NaN", want: `"NaN"`}, value{of: "numeric", text: "Infinity", want: `"Infinity"`}, value{of: "float8", text: "-0", want: `-0`},
	)
	require.JSONEq(t, `{"a": "NaN", "b": "Infinity", "c": ["NaN"]}`, string(s.rows("select 'NaN'::float8 a, 'Infinity'::float4 b, array['NaN'::float8] c")[0]))
}

// A7: the server's own zone touches nothing.
func TestFieldA07NoTimeIsShifted(t *testing.T) {
	t.Parallel()
	s := field(t, "")
	s.everywhere("",
		value{of: "timestamp", text: "2026-01-01 12:00:00.123456", want: `"2026-01-01 12:00:00.123456"`},
		value{of: "date", text: "2026-01-01", want: `"2026-01-01"`},
		value{of: "timestamptz", text: "2026-01-01 12:00+00", want: `"2026-01-01 12:00:00+00"`},
		value{of: "time", text: "12:00:00.000001", want: `"12:00:00.000001"`}, value{of: "timetz", text: "12:00:00-06", want: `"12:00:00-06"`},
		value{of: "timestamp", text: "infinity", want: `"infinity"`}, value{of: "date", text: "0044-03-15 BC", want: `"0044-03-15 BC"`},
		value{of: "interval", text: "1 mon -1 day 00:00:00.5", want: `"1 mon -1 days +00:00:00.5"`},
		value{of: "tsrange", text: "[2026-01-01 12:00,)", want: `"[\"2026-01-01 12:00:00\",)"`},
		value{of: "timestamp[]", text: `{"2026-03-08 02:30:00"}`, want: `["2026-03-08 02:30:00"]`}, // an hour that Chicago does not have
	)
}

// A9
func TestFieldA09ArraysAreArrays(t *testing.T) {
	t.Parallel()
	s := field(t, "CREATE TABLE a (id int PRIMARY KEY, x int[]); INSERT INTO a VALUES (1, '{}'), (2, '{1}'), (3, NULL)")
	var got []string
	for _, row := range s.rows("SELECT x FROM app.a ORDER BY id") {
		got = append(got, string(row))
	}
	require.Equal(t, []string{`{"x":[]}`, `{"x":[1]}`, `{"x":null}`}, got)
	s.everywhere("CREATE DOMAIN app.ints AS int[]",
		value{of: "int[]", text: "{}", want: `[]`}, value{of: "int[]", text: "{1}", want: `[1]`},
		value{of: "int[]", text: "{{1,2},{NULL,4}}", want: `[[1,2],[null,4]]`}, value{of: "bool[]", text: "{t,f,NULL}", want: `[true,false,null]`},
		value{of: "text[]", text: `{"",NULL,"NULL","a,b","{}","q\"\\"}`, want: `["",null,"NULL","a,b","{}","q\"\\"]`},
		value{of: "jsonb[]", text: `{"{\"a\": [1]}","\"s\"","[null]"}`, want: `[{"a":[1]},"s",[null]]`},
		value{of: "box[]", text: "{(1,1),(0,0);(2,2),(0,0)}", want: `["(1,1),(0,0)","(2,2),(0,0)"]`},
		value{of: "bytea[]", text: `{"\\x00ff"}`, want: `["\\x00ff"]`}, value{of: "app.ints", text: "{1,NULL}", want: `[1,null]`},
		value{of: "app.ints[]", text: `{"{1,2}","{}"}`, want: `[[1,2],[]]`},
	)
}

// A11
func TestFieldA11UuidsAreTexts(t *testing.T) {
	t.Parallel()
	s := field(t, "CREATE TABLE u (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n int); INSERT INTO u (n) VALUES (1)")
	const id = `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`
	s.everywhere("",
		value{of: "uuid", text: "{A0EEBC999C0B4EF8BB6D6BB9BD380A11}", want: id}, value{of: "uuid[]", text: "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}", want: "[" + id + ",null]"},
		value{of: "bytea", text: `\x00ff`, want: `"\\x00ff"`}, value{of: "inet", text: "10.0.0.1", want: `"10.0.0.1"`}, value{of: "macaddr", text: "08002b010203", want: `"08:00:2b:01:02:03"`},
	)
	p := s.preview("insert_rows", args{"table": "app.u", "columns": []string{"n"}, "rows": []any{[]any{2}}, "reason": "t"})
	var made struct{ ID string }
	require.NoError(t, json.Unmarshal(p.Sample[0], &made))
	require.Len(t, made.ID, 36)
	s.approve(p.Token)
	done := s.call("execute_plan", p.echo())
	var committed struct{ Rows []struct{ ID string } }
	done.ok(t, &committed)
	require.Len(t, committed.Rows[0].ID, 36)
	p = s.preview("delete_rows", args{"table": "app.u", "where": "id = $1", "params": []any{committed.Rows[0].ID}, "reason": "t"})
	require.EqualValues(t, 1, p.Affected)
}

// A13: everywhere makes the types after the server connected.
func TestFieldA13TypesMadeLater(t *testing.T) {
	t.Parallel()
	s := field(t, "")
	s.everywhere(`CREATE TYPE app.mood AS ENUM ('a', 'it''s, "b"', 'NULL'); CREATE DOMAIN app.calm AS app.mood; CREATE DOMAIN app.moods AS app.mood[];
		CREATE DOMAIN app.big AS bigint CHECK (VALUE > 0); CREATE DOMAIN app.doc AS jsonb; CREATE TYPE app.pair AS (n bigint, m app.mood, t text); CREATE DOMAIN app.whole AS app.pair;
		CREATE TYPE app.moodrange AS RANGE (SUBTYPE = app.mood)`,
		value{of: "app.mood", text: "a", want: `"a"`}, value{of: "app.mood[]", text: `{a,NULL,"NULL"}`, want: `["a",null,"NULL"]`},
		value{of: "app.calm", text: `it's, "b"`, want: `"it's, \"b\""`}, value{of: "app.moods", text: "{a}", want: `["a"]`},
		value{of: "app.big", text: "9007199254740993", want: `"9007199254740993"`}, value{of: "app.big[]", text: "{9007199254740993}", want: `["9007199254740993"]`},
		value{of: "app.doc", text: `{"a": 1}`, want: `{"a":1}`}, value{of: "app.doc", text: `[1, 2]`, want: `[1,2]`},
		value{of: "app.pair", text: `(9007199254740993,a,"x ""y""")`, want: `"(9007199254740993,a,\"x \"\"y\"\"\")"`},
		value{of: "app.pair[]", text: `{"(1,,\"a,b\")",NULL}`, want: `["(1,,\"a,b\")",null]`}, value{of: "app.whole", text: "(1,a,)", want: `"(1,a,)"`},
		value{of: "app.moodrange", text: "[a,NULL)", want: `"[a,NULL)"`},
	)
	// And one that did not exist when the last of them was read.
	s.db.Exec(t, `CREATE TYPE app.later AS ENUM ('a', 'b'); SET ROLE migrator; CREATE TABLE app.l (mood app.later); INSERT INTO app.l VALUES ('a'), ('b')`)
	require.JSONEq(t, `{"mood": "a"}`, string(s.rows("SELECT * FROM app.l WHERE mood = $1", "a")[0]))
	s.db.Exec(t, "ALTER TYPE app.later ADD VALUE 'c'")
	require.Empty(t, s.rows("SELECT * FROM app.l WHERE mood = $1", "c"))
}

// A15: one rule. A string is the text, everything else is JSON.
func TestFieldA15JsonGoesInOnce(t *testing.T) {
	t.Parallel()
	s := field(t, "CREATE TABLE j (id int PRIMARY KEY, j jsonb, k json)")
	for i, c := range []struct {
		given    string // in the arguments
		text, of string // in the table, and its type
	}{
		{`{"a":1}`, `{"a": 1}`, "object"},
		{`"{\"a\":1}"`, `{"a": 1}`, "object"},
		{`[1,"x"]`, `[1, "x"]`, "array"},
		{`"[1,\"x\"]"`, `[1, "x"]`, "array"},
		{`"\"x\""`, `"x"`, "string"},
		{`"\"{\\\"a\\\":1}\""`, `"{\"a\":1}"`, "string"},
		{`9007199254740993`, `9007199254740993`, "number"},
		{`1.10`, `1.10`, "number"},
		{`"1.10"`, `1.10`, "number"},
		{`true`, `true`, "boolean"},
		{`"null"`, `null`, "null"},
		{`null`, "<null>", "<null>"},
		{`[]`, `[]`, "array"},
		{`{}`, `{}`, "object"},
		{`[[1],[2]]`, `[[1], [2]]`, "array"},
	} {
		id := strconv.Itoa(i)
		var p preview
		s.call("insert_rows", json.RawMessage(`{"table": "app.j", "columns": ["id", "j", "k"], "rows": [[`+id+`, `+c.given+`, `+c.given+`]], "reason": "t"}`)).ok(t, &p)
		s.approve(p.Token)
		s.execute(p)
		got := s.db.Query(t, "SELECT j::text, jsonb_typeof(j), k::jsonb::text, j->>'a' FROM app.j WHERE id = "+id)[0]
		require.Equal(t, []string{c.text, c.of, c.text}, got[:3], c.given)
		if c.of == "object" && c.text != "{}" {
			require.Equal(t, "1", got[3], c.given)
		}
	}
	// Text that is no JSON is refused, not guessed.
	s.call("insert_rows", args{"table": "app.j", "columns": []string{"id", "j"}, "rows": []any{[]any{99, "x"}}, "reason": "t"}).refused(t, refusal.WriteFailed)
	// The two nulls are told apart in SQL, and as set and as params too.
	require.JSONEq(t, `{"n": "1"}`, string(s.rows("SELECT count(*) n FROM app.j WHERE j IS NULL")[0]))
	require.JSONEq(t, `{"n": "1"}`, string(s.rows("SELECT count(*) n FROM app.j WHERE j = $1", "null")[0]))
	require.JSONEq(t, `{"n": "2"}`, string(s.rows("SELECT count(*) n FROM app.j WHERE j = $1", args{"a": 1})[0]))
	s.everywhere("",
		value{of: "jsonb", text: `{"a": [1, {"b": null}]}`, want: `{"a":[1,{"b":null}]}`}, value{of: "json", text: `{"b":1,"a":1.10}`, want: `{"b":1,"a":1.10}`},
		value{of: "jsonb", text: `"x"`, want: `"x"`, given: `"\"x\""`}, value{of: "jsonb", text: `null`, want: `null`, given: `"null"`},
		value{of: "jsonb", text: `[null, "a"]`, want: `[null,"a"]`}, value{of: "jsonb", text: `true`, want: `true`}, value{of: "json", text: `1.10`, want: `1.10`},
	)
}

// A17
func TestFieldA17ManyValuesAndUntypedNulls(t *testing.T) {
	t.Parallel()
	s := field(t, "CREATE TABLE many (a int, b int, c int, d int, e int, f int, g int, h int, i int, j int)")
	columns := strings.Split("a b c d e f g h i j", " ")
	rows := make([]any, 7000)
	for i := range rows {
		rows[i] = []any{i, 1, 2, 3, 4, 5, 6, 7, 8, nil}
	}
	r := s.call("insert_rows", args{"table": "app.many", "columns": columns, "rows": rows, "reason": "t"})
	r.refused(t, refusal.InvalidInput)
	require.Contains(t, r.message+r.hint, "65535")
	require.Contains(t, r.message+r.hint, "6553 rows", "the largest batch of ten columns")
	p := s.preview("insert_rows", args{"table": "app.many", "columns": columns, "rows": rows[:6553], "reason": "t"})
	require.EqualValues(t, 6553, p.Affected)

	s.db.Exec(t, "SET ROLE migrator; CREATE TYPE app.mood AS ENUM ('a')")
	types := []string{"int", "bigint", "jsonb", "json", "uuid", "timestamptz", "date", "int[]", "jsonb[]", "bytea", "boolean", "numeric", "interval", "inet", "app.mood", "app.mood[]", "int4range", "text"}
	for i, of := range types {
		types[i] = fmt.Sprintf("n%d %s", i, of)
	}
	s.db.Exec(t, "SET ROLE migrator; CREATE TABLE app.nulls (id int PRIMARY KEY, "+strings.Join(types, ", ")+")")
	columns = []string{"id"}
	first, second := []any{1}, []any{2}
	for i := range types {
		columns, first, second = append(columns, fmt.Sprintf("n%d", i)), append(first, nil), append(second, nil)
	}
	p = s.preview("insert_rows", args{"table": "app.nulls", "columns": columns, "rows": []any{first, second}, "reason": "t"})
	s.approve(p.Token)
	s.execute(p)
	require.Equal(t, 2, number(t, s.db, "SELECT count(*) FROM app.nulls x WHERE num_nulls(VARIADIC ARRAY[n0::text, n2::text, n4::text, n7::text, n14::text, n17]) = 6"))
	for i := range types { // as set, and as a parameter of a condition
		p = s.preview("update_rows", args{"table": "app.nulls", "set": args{columns[i+1]: nil}, "where": columns[i+1] + "::text IS NOT DISTINCT FROM $1", "params": []any{nil}, "reason": "t"})
		require.EqualValues(t, 2, p.Affected, types[i])
	}
}

// A18: see also A1. A number beyond 2^53 is exact wherever a number can stand.
func TestFieldA18IdsMatchBothWays(t *testing.T) {
	t.Parallel()
	s := field(t, "CREATE TABLE i (id bigint PRIMARY KEY, other bigint); INSERT INTO i SELECT 9007199254740990 + g, g FROM generate_series(0, 9) g; INSERT INTO i VALUES (9223372036854775807, 0)")
	id := string(s.rows("SELECT id FROM app.i WHERE other = 3")[0])
	require.Equal(t, `{"id":"9007199254740993"}`, id)
	for _, given := range []string{`"9007199254740993"`, `9007199254740993`, `9007199254740993.0`, `"9223372036854775807"`, `9223372036854775807`} {
		var rows struct{ Rows []struct{ ID string } }
		r := s.call("query", json.RawMessage(`{"statement": "SELECT id FROM app.i WHERE id = $1", "params": [`+given+`], "reason": "t"}`))
		if strings.Contains(given, ".") { // text for a bigint: refused by Postgres, never rounded
			r.refused(t, refusal.QueryFailed)
			continue
		}
		r.ok(t, &rows)
		require.Len(t, rows.Rows, 1, given)
		require.Equal(t, strings.Trim(given, `"`), rows.Rows[0].ID)
		for tool, call := range map[string]string{
			"delete_rows": `"where": "id = $1", "params": [` + given + `]`,
			"update_rows": `"where": "id = $1", "params": [` + given + `], "set": {"other": ` + given + `}`,
			"insert_rows": `"columns": ["id", "other"], "rows": [[` + strconv.Itoa(len(given)) + `, ` + given + `]]`,
		} {
			var p preview
			s.call(tool, json.RawMessage(`{"table": "app.i", `+call+`, "reason": "t"}`)).ok(t, &p)
			require.EqualValues(t, 1, p.Affected, "%s %s", tool, given)
			require.Contains(t, string(p.Sample[0]), `"`+strings.Trim(given, `"`)+`"`, tool)
		}
		// In a list too.
		r = s.call("query", json.RawMessage(`{"statement": "SELECT id FROM app.i WHERE id = ANY($1)", "params": [[`+given+`]], "reason": "t"}`))
		r.ok(t, &rows)
		require.Equal(t, strings.Trim(given, `"`), rows.Rows[0].ID)
	}
}

// D16
func TestFieldD16NoColumnIsLost(t *testing.T) {
	t.Parallel()
	s := field(t, `CREATE TABLE "t" (a int, "a_2" int); INSERT INTO t VALUES (3, 4)`)
	for statement, want := range map[string]string{
		"select 1 as a, 2 as a":                                      `{"a":1,"a_2":2}`,
		"select 1 as a, 2 as a_2, 3 as a, 4 as a":                    `{"a":1,"a_2":2,"a_3":3,"a_4":4}`,
		"select x.*, y.* from app.t x, app.t y":                      `{"a":3,"a_2":4,"a_3":3,"a_2_2":4}`,
		"select 1, 2, 'x'":                                           `{"?column?":1,"?column?_2":2,"?column?_3":"x"}`,
		`select 1 as "  ", 2 as " ", 3 as "A", 4 as a`:               `{"  ":1," ":2,"A":3,"a":4}`,
		`select 1 as "__proto__", 2 as "constructor", 3 as "a""b\c"`: `{"__proto__":1,"constructor":2,"a\"b\\c":3}`,
		"select count(*), count(*) from app.t":                       `{"count":"1","count_2":"1"}`,
		"values (1, 2)":                                              `{"column1":1,"column2":2}`,
	} {
		require.Equal(t, want, string(s.rows(statement)[0]), statement)
	}
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return out
}

package tools_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// accepted holds arguments that get past decoding and past the guard.
var accepted = map[string][]string{
	"describe_schema": {`{}`, `{"detail":"full"}`, `{"detail":"summary","schema":"app","reason":""}`, `{"table":"app.items"}`, `{"schema":"app","table":"items"}`},
	"query":           {`{"statement":"select 1","reason":"r"}`, `{"statement":"select $1","params":[1],"limit":5,"reason":"r"}`, `{"statement":"select * from app.items","reason":"r"}`},
	"explain_plan":    {`{"statement":"select 1","reason":"r"}`, `{"statement":"select id from items where id = $1","params":["9007199254740993"],"reason":"r"}`},
	"delete_rows": {
		`{"table":"app.items","where":"id = $1","params":[1],"reason":"r"}`,
		`{"table":"items","confirm_full_table":true,"reason":"r"}`,
		`{"table":"app.items","where":"name = ANY($1) and data = $2","params":[["a",null,[1,"x"]],{"a":{"b":[]}}],"confirm_full_table":false,"reason":"r"}`,
	},
	"insert_rows": {
		`{"table":"app.items","columns":["id","name"],"rows":[[1,"a"],["2",null]],"reason":"r"}`,
		`{"table":"app.items","columns":["data"],"rows":[[{"a":[1,{}]}],[[1,2]],[true],[1.5]],"reason":"r"}`,
	},
	"update_rows": {
		`{"table":"app.items","set":{"name":"x","data":null},"where":"id = $1","params":[1],"reason":"r"}`,
		`{"table":"app.items","set":{},"set_expressions":{"name":"name || 'x'","data":"DEFAULT"},"confirm_full_table":true,"reason":"r"}`,
	},
	"run_migration": {`{"statement":"alter table app.items add column note text","reason":"r"}`},
	"execute_plan":  {`{"plan_token":"t","statement":"s"}`, `{"plan_token":"t","statement":"s","params":[1],"fingerprint":"00","reason":"why"}`},
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	for tool, list := range accepted {
		for _, arguments := range list {
			b := setup(t)
			b.succeed(t, tool, arguments)
			require.Empty(t, b.writes.refusals, arguments)
		}
	}
}

type badCase struct {
	tool, arguments string
	code            refusal.Code
	says            string // in the message
	schema          bool   // the schema refuses it too
}

var refusedArguments = []badCase{
	{"query", `{"statement":"select 1"}`, refusal.MissingReason, "no reason", true},
	{"query", `{"statement":"select 1","reason":""}`, refusal.MissingReason, "", false},
	{"query", `{"statement":"select 1","reason":" \t\u00a0\u200b\n"}`, refusal.MissingReason, "", false},
	{"query", `{"statement":"select 1","reason":null}`, refusal.MissingReason, "", true},
	{"query", `{"statement":"select 1","reason":5}`, refusal.InvalidArguments, "reason", true},
	{"query", `{"reason":"r"}`, refusal.InvalidArguments, `"statement" is required`, true},
	{"query", `{"statement":"select 1","reason":"r","limit":"5"}`, refusal.InvalidArguments, "limit", true},
	{"query", `{"statement":"select 1","reason":"r","limit":5.5}`, refusal.InvalidArguments, "limit", true},
	{"query", `{"statement":"select 1","reason":"r","limit":0}`, refusal.InvalidArguments, "at least 1", false},
	{"query", `{"statement":"select 1","reason":"r","limit":-1}`, refusal.InvalidArguments, "at least 1", false},
	{"query", `{"statement":"select 1","reason":"r","limit":99999999999999999999}`, refusal.InvalidArguments, "limit", false},
	{"query", `{"statement":["select 1"],"reason":"r"}`, refusal.InvalidArguments, "statement", true},
	{"query", `{"statement":"select 1","reason":"r","Limit":5}`, refusal.InvalidArguments, "Limit", true},
	{"query", `{"statement":"select 1","reason":"r","params":5}`, refusal.InvalidArguments, "params", true},
	{"query", `{"statement":"select 1","reason":"r","params":"5"}`, refusal.InvalidArguments, "params", true},
	{"query", `{"statement":"select 1","reason":"r","params":"{}"}`, refusal.InvalidArguments, "params", true},
	{"query", `{"statement":"select 1","reason":"r","params":{"1":2}}`, refusal.InvalidArguments, "params", true},
	{"query", `{"statement":"select 1","reason":"r","approved":true}`, refusal.InvalidArguments, "approved", true},
	{"explain_plan", `{"statement":"select 1","reason":"r","analyze":true}`, refusal.InvalidArguments, "analyze", true},
	{"explain_plan", `{"statement":"select 1","statement":"select 2","reason":"r"}`, refusal.InvalidArguments, "twice", false},
	{"describe_schema", `{"detail":"everything"}`, refusal.InvalidArguments, "detail", true},
	{"describe_schema", `{"detail":""}`, refusal.InvalidArguments, "detail", true},
	{"describe_schema", `{"schema":5}`, refusal.InvalidArguments, "schema", true},
	{"describe_schema", `{"schema":"a.b"}`, refusal.InvalidArguments, "one name", false},
	{"describe_schema", `{"schema":"other","table":"app.items"}`, refusal.InvalidArguments, "different", false},
	{"describe_schema", `{"table":"app.itmes"}`, refusal.InvalidTableName, "", false},
	{"delete_rows", `{}`, refusal.MissingReason, "", true},
	{"delete_rows", `{"reason":"r"}`, refusal.InvalidArguments, `"table" is required`, true},
	{"delete_rows", `{"table":"app.items","where":"id=1","reason":"r","confirm_full_table":"true"}`, refusal.InvalidArguments, "confirm_full_table", true},
	{"delete_rows", `{"table":"app.items","where":"id=1","reason":"r","confirm_full_table":1}`, refusal.InvalidArguments, "confirm_full_table", true},
	{"delete_rows", `{"table":"app.items","where":"id=1","reason":"r","confirm_full_table":null}`, refusal.InvalidArguments, "confirm_full_table", true},
	{"delete_rows", `{"table":"app.items","where":null,"reason":"r","confirm_full_table":true}`, refusal.InvalidArguments, "where", true},
	{"delete_rows", `{"table":"app.items","wher":"id=1","reason":"r"}`, refusal.InvalidArguments, "where", true},
	{"delete_rows", `{"table":"app.items","reason":"r"}`, refusal.NoWhereClause, "", false},
	{"delete_rows", `{"table":"app.items","where":"true","confirm_full_table":false,"reason":"r"}`, refusal.NoWhereClause, "", false},
	{"delete_rows", `{"table":"app.items","where":"id=1","confirm":true,"reason":"r"}`, refusal.InvalidArguments, "confirm", true},
	{"delete_rows", `{"table":"app.items","where":"id=1","auto_approve":true,"reason":"r"}`, refusal.InvalidArguments, "auto_approve", true},
	{"delete_rows", `{"table":"app.nope","where":"id=1","reason":"r"}`, refusal.InvalidTableName, "", false},
	{"delete_rows", `{"table":"app.items","where":"id=$1","params":"[1","reason":"r"}`, refusal.InvalidArguments, "params", true},
	{"delete_rows", `{"table":"app.items","where":"id=$1","params":"1","reason":"r"}`, refusal.InvalidArguments, "params", true},
	{"delete_rows", `{"table":"app.items","where":"id=$1","params":"[{\"a\":1,\"a\":2}]","reason":"r"}`, refusal.InvalidArguments, "twice", true},
	{"delete_rows", `{"table":"app.items","where":"id=$1","params":[{"a":1,"a":2}],"reason":"r"}`, refusal.InvalidArguments, "twice", false},
	{"insert_rows", `{"table":"app.items","rows":[[1]],"reason":"r"}`, refusal.InvalidArguments, `"columns" is required`, true},
	{"insert_rows", `{"table":"app.items","columns":["id"],"reason":"r"}`, refusal.InvalidArguments, `"rows" is required`, true},
	{"insert_rows", `{"columns":["id"],"rows":[[1]],"reason":"r"}`, refusal.InvalidArguments, `"table" is required`, true},
	{"insert_rows", `{"table":"app.items","columns":["id"],"rows":[1],"reason":"r"}`, refusal.InvalidArguments, "rows[0]", true},
	{"insert_rows", `{"table":"app.items","columns":["id"],"rows":["[1]"],"reason":"r"}`, refusal.InvalidArguments, "rows[0]", true},
	{"insert_rows", `{"table":"app.items","columns":["id"],"rows":{"id":1},"reason":"r"}`, refusal.InvalidArguments, "rows", true},
	{"insert_rows", `{"table":"app.items","columns":"id","rows":[[1]],"reason":"r"}`, refusal.InvalidArguments, "columns", true},
	{"insert_rows", `{"table":"app.items","columns":[1],"rows":[[1]],"reason":"r"}`, refusal.InvalidArguments, "columns[0]", true},
	{"insert_rows", `{"table":"app.items","columns":["id"],"rows":[[1]],"on_conflict":"nothing","reason":"r"}`, refusal.InvalidArguments, "on_conflict", true},
	{"insert_rows", `{"table":"app.items","columns":["id"],"rows":[[1,2]],"reason":"r"}`, refusal.InvalidArguments, "rows[0]", false},
	{"update_rows", `{"table":"app.items","where":"id=1","reason":"r"}`, refusal.InvalidArguments, `"set" is required`, true},
	{"update_rows", `{"table":"app.items","set":[1],"where":"id=1","reason":"r"}`, refusal.InvalidArguments, "set", true},
	{"update_rows", `{"table":"app.items","set":"[1]","where":"id=1","reason":"r"}`, refusal.InvalidArguments, "set", true},
	{"update_rows", `{"table":"app.items","set":{"name":1,"name":2},"where":"id=1","reason":"r"}`, refusal.InvalidArguments, "twice", false},
	{"update_rows", `{"table":"app.items","set":{},"set_expressions":{"name":5},"where":"id=1","reason":"r"}`, refusal.InvalidArguments, "set_expressions.name", true},
	{"update_rows", `{"table":"app.items","set":{},"set_expressions":{"name":null},"where":"id=1","reason":"r"}`, refusal.InvalidArguments, "set_expressions.name", true},
	{"update_rows", `{"table":"app.items","set":{},"set_expressions":"{\"name\":\"1\"}","where":"id=1","reason":"r"}`, refusal.InvalidArguments, "set_expressions", true},
	{"update_rows", `{"table":"app.items","set":{},"where":"id=1","reason":"r"}`, refusal.InvalidArguments, "nothing to set", false},
	{"update_rows", `{"table":"app.items","set":{"name":"x"},"reason":"r"}`, refusal.NoWhereClause, "", false},
	{"run_migration", `{"statement":"alter table app.items add x int"}`, refusal.MissingReason, "", true},
	{"run_migration", `{"reason":"r"}`, refusal.InvalidArguments, `"statement" is required`, true},
	{"run_migration", `{"statement":"alter table app.items add x int","params":[],"reason":"r"}`, refusal.InvalidArguments, "params", true},
	{"run_migration", `{"statement":"delete from app.items","reason":"r"}`, refusal.InvalidInput, "", false},
	{"run_migration", `{"statement":"select 1; drop table app.items","reason":"r"}`, refusal.MultiStatement, "", false},
	{"execute_plan", `{"statement":"s"}`, refusal.InvalidArguments, `"plan_token" is required`, true},
	{"execute_plan", `{"plan_token":"t"}`, refusal.InvalidArguments, `"statement" is required`, true},
	{"execute_plan", `{"plan_token":5,"statement":"s"}`, refusal.InvalidArguments, "plan_token", true},
	{"execute_plan", `{"plan_token":"t","statement":"s","approve":true}`, refusal.InvalidArguments, "approve", true},
	{"execute_plan", `{"plan_token":"t","statement":"s","approved_by":"me"}`, refusal.InvalidArguments, "approved_by", true},
	{"execute_plan", `{"plan_token":"t","statement":"s","reason":null}`, refusal.InvalidArguments, "reason", true},
}

func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	for _, c := range refusedArguments {
		b := setup(t)
		_, err := b.call(t, c.tool, c.arguments)
		e, ok := refusal.As(err)
		require.True(t, ok, "%s %s: %v", c.tool, c.arguments, err)
		require.Equal(t, c.code, e.Code, "%s %s: %s", c.tool, c.arguments, e.Message)
		require.Contains(t, e.Message, c.says, c.arguments)
		require.NotEmpty(t, e.Hint)
		require.Empty(t, b.writes.previews)
		require.Empty(t, b.writes.executes)
		require.Empty(t, b.reads.queries)
		// S15: a write that never reached Postgres is recorded all the same.
		if b.tools[c.tool].Tier == "read" {
			require.Empty(t, b.writes.refusals)
		} else {
			require.Len(t, b.writes.refusals, 1, c.arguments)
			require.Equal(t, c.code, b.writes.refusals[0].code)
			require.Equal(t, c.tool, b.writes.refusals[0].tool)
		}
	}
}

// No shape of arguments at all gets through or panics.
func TestArgumentsThatAreNoObject(t *testing.T) {
	t.Parallel()
	for name := range setup(t).tools {
		for _, arguments := range []string{`[]`, `"x"`, `5`, `true`, `{`, `{}{}`, `null{}`, `[null]`, `nul`, "{\"\xff\":1}", `{"\ud800":1}`, strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500)} {
			b := setup(t)
			_, err := b.call(t, name, arguments)
			_, ok := refusal.As(err)
			require.True(t, ok, "%s %q: %v", name, arguments, err)
		}
	}
}

// No arguments, however a client writes that, are the empty object: describe_schema lists, and every other
// tool says what it needs.
func TestNoArguments(t *testing.T) {
	t.Parallel()
	for name := range setup(t).tools {
		var want string
		for i, arguments := range []string{`{}`, ``, `null`, " null\n"} {
			b := setup(t)
			_, err := b.call(t, name, arguments)
			if name == "describe_schema" {
				require.NoError(t, err, "%q", arguments)
				continue
			}
			e, ok := refusal.As(err)
			require.True(t, ok, "%s %q: %v", name, arguments, err)
			if got := e.Message + e.Hint; i == 0 {
				want = got
			} else {
				require.Equal(t, want, got, "%s %q", name, arguments)
			}
		}
	}
}

func TestStringsThatHoldJSON(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.succeed(t, "delete_rows", `{"table":"app.items","where":"id = $1 and name = $2","params":"[9007199254740993, \"5\"]","reason":"r"}`)
	params := b.writes.previews[0].Statement.Params()
	require.Equal(t, []string{`"9007199254740993"`, `"5"`}, words(params))

	b.succeed(t, "insert_rows", `{"table":"app.items","columns":"[\"id\",\"name\"]","rows":"[[1,\"[1]\"],[2,\"true\"]]","reason":"r"}`)
	require.Equal(t, []string{`1`, `"[1]"`, `2`, `"true"`}, words(b.writes.previews[1].Statement.Params()))

	b.succeed(t, "update_rows", `{"table":"app.items","set":"{\"name\":\"{}\",\"data\":{}}","where":"id = $1","params":["1"],"reason":"r"}`)
	require.Equal(t, []string{`"1"`, `"{}"`, `{}`}, words(b.writes.previews[2].Statement.Params()))

	b.succeed(t, "execute_plan", `{"plan_token":"t","statement":"s","params":"[1]"}`)
	require.Equal(t, []string{`1`}, words(b.writes.executes[0].Echo.Payload.Params))
}

func words(list []json.RawMessage) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = string(p)
	}
	return out
}

// A fault is no refusal: it stays an error, and the record of a write says so.
func TestFaultsStayFaults(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for tool, list := range accepted {
		if tool == "execute_plan" {
			continue
		}
		b := setup(t)
		b.cat.broken = boom
		b.reads.errs = []error{boom}
		b.writes.errs = []error{boom}
		_, err := b.call(t, tool, list[0])
		require.ErrorIs(t, err, boom, tool)
		_, isRefusal := refusal.As(err)
		require.False(t, isRefusal)
	}
}

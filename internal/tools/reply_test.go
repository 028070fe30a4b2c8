package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

const deleteItems = `{"table":"app.items","where":"id = $1","params":[1],"reason":"r"}`

func value(s string) json.RawMessage { return json.RawMessage(s) }

func samplePlan() plan.Plan {
	return plan.Plan{
		Token: "tok", State: plan.Previewed, Fingerprint: "ab12",
		Preview: plan.Preview{
			Tool: "update_rows", Target: "app.items", AffectedRows: 2,
			Payload:     plan.Payload{Statement: `UPDATE app.items SET name = $2 WHERE id = $1`, Params: []json.RawMessage{value(`"9007199254740993"`), value(`"<x>"`)}},
			BlastRadius: plan.BlastRadius{TotalRows: 5, Tables: []plan.Table{{Name: "app.items", Updated: 2}, {Name: `app."Log"`, Inserted: 1, Updated: 1, Deleted: 1}}},
			SampleRows:  []plan.Row{{{Column: "z", Value: value("1")}, {Column: "a", Value: value("null")}}},
			Changes:     []plan.Change{{Key: plan.Row{{Column: "id", Value: value("1")}}, Before: plan.Row{{Column: "name", Value: value(`"a"`)}}, After: plan.Row{{Column: "name", Value: value(`"b"`)}}}},
		},
		ExpiresAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600)),
	}
}

// The exact shape, field order and all, of a preview.
func TestPreviewShape(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.writes.reply = writecore.Reply{Plan: samplePlan()}
	require.Equal(t, `{"status":"previewed","plan_token":"tok","statement":"UPDATE app.items SET name = $2 WHERE id = $1",`+
		`"params":["9007199254740993","<x>"],"affected_rows":2,"sample_rows":[{"z":1,"a":null}],`+
		`"changes":[{"key":{"id":1},"before":{"name":"a"},"after":{"name":"b"}}],"target":"app.items",`+
		`"blast_radius":{"total_rows":5,"tables":[{"table":"app.items","inserted":0,"updated":2,"deleted":0},{"table":"app.\"Log\"","inserted":1,"updated":1,"deleted":1}]},`+
		`"warnings":[],"expires_at":"2026-01-02T02:04:05Z",`+
		`"message":"Nothing has been changed yet. This UPDATE would change 2 rows of app.items, and 5 rows in 2 tables in all. That is within the 100 rows that need no decision. `+
		`If it is what you meant, call execute_plan with plan_token, statement and params as given here before 2026-01-02T02:04:05Z; otherwise preview again.",`+
		`"fingerprint":"ab12"}`, b.succeed(t, "update_rows", accepted["update_rows"][0]))
}

func TestPreviewListsAreNeverNull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := plan.Plan{Token: "tok", State: plan.AwaitingApproval, ExpiresAt: time.Unix(0, 0), Preview: plan.Preview{Tool: "run_migration", Facts: &plan.Facts{DurationMS: 12.3}, Why: "You are asked because every migration asks."}}
	b.writes.reply = writecore.Reply{Plan: p, ApprovalURL: "http://127.0.0.1:4319/"}
	out := b.succeed(t, "run_migration", accepted["run_migration"][0])
	require.NotContains(t, out, "null")
	for _, list := range []string{"params", "sample_rows", "changes", "warnings", "locks", "rewrites", "scans", "drops", "lost", "unreadable", "notices", "tables"} {
		require.Contains(t, out, fmt.Sprintf("%q:[]", list))
	}
	require.Contains(t, out, `"duration_ms":12.3,"size_bytes":0`)
}

func TestPreviewForAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := samplePlan()
	p.State, p.Tool, p.Why = plan.AwaitingApproval, "delete_rows", "You are asked because 1,234 rows is more than 100."
	p.AffectedRows, p.BlastRadius = 1234, plan.BlastRadius{TotalRows: 1234, Tables: []plan.Table{{Name: "app.items", Deleted: 1234}}}
	b.writes.reply = writecore.Reply{Plan: p, ApprovalURL: "http://127.0.0.1:4319/", Joined: true}
	var r struct {
		Status, Message, Target string
		ApprovalURL             string `json:"approval_url"`
	}
	require.NoError(t, json.Unmarshal([]byte(b.succeed(t, "delete_rows", deleteItems)), &r))
	require.Equal(t, "awaiting_approval", r.Status)
	require.Equal(t, "http://127.0.0.1:4319/", r.ApprovalURL)
	// Page, threshold, count and expiry: an agent may show its user nothing but this sentence.
	for _, part := range []string{"Nothing has been changed", "1,234 rows of app.items", "100 rows", "http://127.0.0.1:4319/", "2026-01-02T02:04:05Z", "execute_plan", "50 s", "1,234 rows is more than 100", "previewed before"} {
		require.Contains(t, r.Message, part)
	}
	require.NotContains(t, r.Message, "You are asked", "that sentence is for the person")

	p.State = plan.Approved
	b.writes.reply = writecore.Reply{Plan: p, Joined: true}
	out := b.succeed(t, "delete_rows", deleteItems)
	require.Contains(t, out, `"status":"previewed"`)
	require.Contains(t, out, "has approved it")
	require.NotContains(t, out, "approval_url")
}

func TestPreviewAfterARejection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := samplePlan()
	p.Earlier = &plan.Decision{Reason: "wrong tenant", At: time.Unix(0, 0)}
	b.writes.reply = writecore.Reply{Plan: p}
	out := b.succeed(t, "delete_rows", deleteItems)
	require.Contains(t, out, `{"code":"REJECTED_BEFORE","message":"A person rejected this same change at 1970-01-01T00:00:00Z; the reason given: \"wrong tenant\"."}`)
	require.Contains(t, out, "A person rejected this same change before")
	require.Equal(t, 1, strings.Count(out, "REJECTED_BEFORE"))
	p.Earlier.Reason = ""
	require.Contains(t, b.succeed(t, "delete_rows", deleteItems), `"message":"A person rejected this same change at 1970-01-01T00:00:00Z."}`)
}

func TestRefusalsOfTheCoreAreNotRecordedTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.writes.errs = []error{refusal.New(refusal.HardMaxRowsExceeded, "Too many rows.", "Narrow the condition.")}
	_, err := b.call(t, "delete_rows", deleteItems)
	require.True(t, refusal.Is(err, refusal.HardMaxRowsExceeded))
	require.Empty(t, b.writes.refusals)
	require.Len(t, b.writes.previews, 1)
}

// What the agent asked for is in the record of a refusal, values are not.
func TestRefusedStatementsAreRecorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, statement string }{
		{"delete_rows", `{"table":"app.nope","where":"id = $1","params":["secret"],"reason":"why"}`, "DELETE FROM app.nope WHERE id = $1"},
		{"insert_rows", `{"table":"app.nope","columns":["a","b"],"rows":[["secret",1],["secret",2]],"reason":"why"}`, "INSERT INTO app.nope (a, b) VALUES … (2 rows)"},
		{"update_rows", `{"table":"app.nope","set":{"a":"secret"},"set_expressions":{"b":"b + 1"},"where":"id = 1","reason":"why"}`, "UPDATE app.nope SET a = …, b = b + 1 WHERE id = 1"},
		{"run_migration", `{"statement":"drop database x","reason":"why"}`, "drop database x"},
		{"delete_rows", `{"tabel":"x","reason":"why"}`, ""},
		{"execute_plan", `{"statement":"s","reason":"why"}`, "s"},
	} {
		b := setup(t)
		_, err := b.call(t, c.tool, c.arguments)
		require.Error(t, err)
		require.Len(t, b.writes.refusals, 1)
		require.Equal(t, c.statement, b.writes.refusals[0].statement)
		require.Equal(t, "why", b.writes.refusals[0].reason)
	}
}

func TestStaleFactsAreLookedUpAgain(t *testing.T) {
	t.Parallel()
	t.Run("a column that is newer than the cache", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.succeed(t, "insert_rows", `{"table":"app.items","columns":["late"],"rows":[["x"]],"reason":"r"}`)
		require.Positive(t, b.cat.fresh)
		require.Empty(t, b.writes.refusals)
	})
	t.Run("the core found that the facts were stale", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.writes.errs = []error{errors.Join(refusal.New(refusal.WriteFailed, "A function changed.", "Call again."), wire.ErrStaleCatalog)}
		b.succeed(t, "delete_rows", deleteItems)
		require.Len(t, b.writes.previews, 2)
		require.Positive(t, b.cat.fresh)
	})
	t.Run("once, not for ever", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		again := errors.Join(refusal.New(refusal.TableNotAllowlisted, "It is hidden.", "Name another."), wire.ErrStaleCatalog)
		b.writes.errs = []error{again, again, again}
		_, err := b.call(t, "delete_rows", deleteItems)
		require.True(t, refusal.Is(err, refusal.TableNotAllowlisted))
		require.Len(t, b.writes.previews, 2)
		b.reads.errs = []error{again, again, again}
		_, err = b.call(t, "query", accepted["query"][0])
		require.True(t, refusal.Is(err, refusal.TableNotAllowlisted))
		require.Len(t, b.reads.queries, 2)
	})
	t.Run("what is refused by its text alone costs no look-up", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.call(t, "query", `{"statement":"drop table x","reason":"r"}`)
		require.Error(t, err)
		require.Zero(t, b.cat.asked)
	})
}

func TestExecuteShape(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := samplePlan()
	b.writes.outcome = writecore.Outcome{Plan: p, AffectedRows: 2, BlastRadius: p.BlastRadius, Duration: 12345678 * time.Nanosecond}
	require.Equal(t, `{"status":"executed","plan_token":"tok","affected_rows":2,"blast_radius":{"total_rows":5,"tables":[`+
		`{"table":"app.items","inserted":0,"updated":2,"deleted":0},{"table":"app.\"Log\"","inserted":1,"updated":1,"deleted":1}]},"duration_ms":12.35}`,
		b.succeed(t, "execute_plan", `{"plan_token":"tok","statement":" s ","params":[1.0],"reason":"now"}`))
	got := b.writes.executes[0]
	require.Equal(t, plan.Token("tok"), got.Token)
	require.Equal(t, " s ", got.Echo.Payload.Statement)
	require.Equal(t, []string{"1.0"}, words(got.Echo.Payload.Params))
	require.Equal(t, "now", got.Reason)
	require.Nil(t, got.Progress)

	p.Tool = "insert_rows"
	b.writes.outcome = writecore.Outcome{Plan: p}
	require.Contains(t, b.succeed(t, "execute_plan", `{"plan_token":"tok","statement":"s"}`), `"tables":[]},"duration_ms":0,"rows":[]}`)
	b.writes.outcome.Returned = []plan.Row{{{Column: "id", Value: value(`"7"`)}}}
	require.Contains(t, b.succeed(t, "execute_plan", `{"plan_token":"tok","statement":"s"}`), `"rows":[{"id":"7"}]`)
}

// Params that are not given are none, unless the fingerprint stands in for them.
func TestExecuteParams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.succeed(t, "execute_plan", `{"plan_token":"t","statement":"s"}`)
	require.NotNil(t, b.writes.executes[0].Echo.Payload.Params)
	require.Empty(t, b.writes.executes[0].Echo.Payload.Params)
	b.succeed(t, "execute_plan", `{"plan_token":"t","statement":"s","fingerprint":"ab"}`)
	require.Nil(t, b.writes.executes[1].Echo.Payload.Params)
	require.Equal(t, plan.Fingerprint("ab"), b.writes.executes[1].Echo.Fingerprint)
	b.succeed(t, "execute_plan", `{"plan_token":"t","statement":"s","fingerprint":"ab","params":[]}`)
	require.NotNil(t, b.writes.executes[2].Echo.Payload.Params)
}

func TestQueryShape(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.result = &tools.QueryResult{
		Columns: []string{"a", "a", "a_2", `q"`}, Types: []string{"integer", "text", "bigint", "jsonb"},
		Rows: [][]json.RawMessage{{value("1"), value(`"x"`), value(`"9007199254740993"`), value(`{"n":1.10}`)}, {value("null"), value("null"), value("null"), value("null")}},
	}
	require.Equal(t, `{"columns":["a","a_3","a_2","q\""],"column_types":["integer","text","bigint","jsonb"],`+
		`"rows":[{"a":1,"a_3":"x","a_2":"9007199254740993","q\"":{"n":1.10}},{"a":null,"a_3":null,"a_2":null,"q\"":null}],`+
		`"row_count":2,"truncated":false}`, b.succeed(t, "query", `{"statement":"select 1","reason":"r"}`))

	b.reads.result = &tools.QueryResult{Columns: []string{"?column?", "?column?"}, Types: []string{"text", "text"}, Truncated: true, Shortened: []string{"doc"}, Rows: [][]json.RawMessage{{value("1"), value("2")}}}
	out := b.succeed(t, "query", `{"statement":"select 1","reason":"r"}`)
	require.Contains(t, out, `"?column?":1,"?column?_2":2`)
	require.Contains(t, out, `"truncated":true,"hint":"There are more rows than these 1.`)
	require.Contains(t, out, "cut in: doc")

	b.reads.result = &tools.QueryResult{}
	require.Equal(t, `{"columns":[],"column_types":[],"rows":[],"row_count":0,"truncated":false}`, b.succeed(t, "query", `{"statement":"select 1","reason":"r"}`))
}

func TestQueryLimit(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]int{"": 1000, `,"limit":5`: 5, `,"limit":1000000`: 1000, `,"limit":1`: 1} {
		b := setup(t)
		b.succeed(t, "query", `{"statement":"select 1","reason":"r"`+given+`}`)
		require.Equal(t, tools.QueryLimits{Rows: want, Bytes: 1 << 20, Timeout: 10 * time.Second}, b.reads.limits)
	}
}

func TestReadsAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.succeed(t, "query", `{"statement":"select $1","params":[1],"reason":"r"}`)
	require.Len(t, b.events, 1)
	require.Equal(t, "query", b.events[0].Tool)
	require.Equal(t, "select $1", b.events[0].Statement)
	require.Equal(t, int64(1), b.events[0].Rows)
	_, err := b.call(t, "query", `{"statement":"drop table x","reason":"r"}`)
	require.Error(t, err)
	require.Equal(t, err, b.events[1].Err)
	b.succeed(t, "describe_schema", `{"reason":"looking"}`)
	require.Equal(t, "looking", b.events[2].Reason)
}

func TestExplainShape(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.plan = value(`[ {"Plan": {"Node Type":"Nested Loop","Total Cost":1e4,"Plan Rows":12,"Plans":[
		{"Node Type":"Seq Scan","Relation Name":"big","Schema":"app","Total Cost":2500.50,"Plan Rows":1},
		{"Node Type":"Seq Scan","Relation Name":"big","Schema":"app","Total Cost":2500.50,"Plan Rows":1},
		{"Node Type":"Seq Scan","Relation Name":"small","Total Cost":1.5,"Plan Rows":1}]}} ]`)
	out := b.succeed(t, "explain_plan", `{"statement":"select 1","reason":"r"}`)
	require.True(t, strings.HasPrefix(out, `{"cost":1e4,"rows":12,"plan":[{"Plan":{"Node Type":"Nested Loop"`), out)
	require.True(t, strings.HasSuffix(out, `"warnings":[]}`), out)
	for _, odd := range []string{`[]`, `{}`, `[{}]`, `[{"Plan":null}]`, `nope`, ``} {
		b.reads.plan = value(odd)
		_, err := b.call(t, "explain_plan", `{"statement":"select 1","reason":"r"}`)
		require.Error(t, err)
		_, isRefusal := refusal.As(err)
		require.False(t, isRefusal, "another shape is our fault, not the agent's")
	}
}

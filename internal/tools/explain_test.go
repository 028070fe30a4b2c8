package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// warned gives the messages of the warnings on one plan. The plans of real servers are tried by
// TestExplainPlanWarnings.
func warned(t *testing.T, plan string, scanned ...tools.Scanned) []string {
	t.Helper()
	b := setup(t)
	b.reads.plan, b.reads.scanned = json.RawMessage(`[{"Plan":`+plan+`}]`), scanned
	var reply struct {
		Warnings []struct{ Code, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(b.succeed(t, "explain_plan", `{"statement":"select 1","reason":"r"}`)), &reply))
	out := []string{}
	for _, w := range reply.Warnings {
		require.Equal(t, "SEQ_SCAN", w.Code)
		out = append(out, w.Message)
	}
	return out
}

func seqScan(name string) string {
	return fmt.Sprintf(`{"Node Type":"Seq Scan","Relation Name":%q,"Startup Cost":0,"Total Cost":2000,"Plan Rows":50000,"Filter":"(x = 1)"}`, name)
}

func over(typ, costs string, children ...string) string {
	return fmt.Sprintf(`{"Node Type":%q,%s,"Plans":[%s]}`, typ, costs, strings.Join(children, ","))
}

const narrowed = " If this runs often, an index on the columns that are compared would help."

func TestSeqScanThresholds(t *testing.T) {
	t.Parallel()
	rows := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		table tools.Scanned
		want  []string
	}{
		{tools.Scanned{Schema: "app", Name: "x", Bytes: 8<<20 - 1, Rows: rows(99_999)}, []string{}},
		{tools.Scanned{Schema: "app", Name: "x", Bytes: 8 << 20, Rows: rows(5)}, []string{"A sequential scan reads app.x (8.0 MB, about 5 rows)." + narrowed}},
		{tools.Scanned{Schema: "app", Name: "x", Bytes: 5, Rows: rows(100_000)}, []string{"A sequential scan reads app.x (0.0 MB, about 100,000 rows)." + narrowed}},
		{tools.Scanned{Schema: "App", Name: "x", Bytes: 3 << 30}, []string{`A sequential scan reads "App".x (3,072 MB, never analysed, so its rows are not known).` + narrowed}},
		{tools.Scanned{Schema: "app", Name: "y", Bytes: 3 << 30}, []string{}}, // not what is scanned
	} {
		require.Equal(t, c.want, warned(t, seqScan("x"), c.table), "%+v", c.table)
	}
}

// What is read counts, not what the table has: below a LIMIT that is a part, but not behind a node that
// must have everything first.
func TestSeqScanBelowALimit(t *testing.T) {
	t.Parallel()
	n := int64(200_000)
	x := tools.Scanned{Schema: "app", Name: "x", Bytes: 100 << 20, Rows: &n}
	limit := `"Startup Cost":0,"Total Cost":20`
	require.Empty(t, warned(t, over("Limit", limit, seqScan("x")), x), "a hundredth of it")
	require.Empty(t, warned(t, over("Limit", limit, over("Subquery Scan", `"Startup Cost":0,"Total Cost":2000`, seqScan("x"))), x))
	require.Len(t, warned(t, over("Limit", `"Startup Cost":0,"Total Cost":500`, seqScan("x")), x), 1, "a quarter of it")
	require.Len(t, warned(t, over("Limit", `"Startup Cost":2100,"Total Cost":2101`, over("Sort", `"Startup Cost":2100,"Total Cost":2200`, seqScan("x"))), x), 1)
	require.Len(t, warned(t, over("Limit", `"Startup Cost":2000,"Total Cost":2001`, over("Aggregate", `"Startup Cost":2000,"Total Cost":2001`, seqScan("x"))), x), 1)
	sub := strings.Replace(seqScan("x"), `{`, `{"Parent Relationship":"InitPlan","Subplan Name":"CTE c",`, 1)
	require.Len(t, warned(t, over("Limit", limit, sub), x), 1, "a sub-plan has a life of its own")
}

// Partitions are one table, a table that is scanned twice is not twice as large, and what a view hides is
// not named.
func TestSeqScanOfParts(t *testing.T) {
	t.Parallel()
	n := int64(1000)
	part := func(i int, rows *int64) tools.Scanned {
		return tools.Scanned{Schema: "app", Name: fmt.Sprintf("log_%d", i), Bytes: 3 << 20, Rows: rows, RootSchema: "app", Root: "log"}
	}
	costs := `"Startup Cost":0,"Total Cost":9000`
	require.Empty(t, warned(t, over("Append", costs, seqScan("log_1"), seqScan("log_2")), part(1, &n), part(2, &n), part(3, &n)))
	require.Equal(t, []string{"A sequential scan reads 3 of the partitions of app.log (9.0 MB, about 3,000 rows)." + narrowed},
		warned(t, over("Append", costs, seqScan("log_1"), seqScan("log_2"), seqScan("log_3")), part(1, &n), part(2, &n), part(3, &n)))
	require.Equal(t, []string{"A sequential scan reads 3 of the partitions of app.log (9.0 MB, never analysed, so its rows are not known)." + narrowed},
		warned(t, over("Append", costs, seqScan("log_1"), seqScan("log_2"), seqScan("log_3")), part(1, &n), part(2, nil), part(3, &n)))
	require.Empty(t, warned(t, over("Hash Join", costs, seqScan("x"), seqScan("x")), tools.Scanned{Schema: "app", Name: "x", Bytes: 5 << 20}))
	require.Equal(t, []string{"A sequential scan reads a large table below a view." + narrowed},
		warned(t, seqScan("(hidden)"), tools.Scanned{Schema: "secret", Name: "hidden", Bytes: 5 << 30, Hidden: true}))
	require.Equal(t, []string{"A sequential scan reads b.x (20 MB, never analysed, so its rows are not known). Nothing narrows it down, so every row is read."},
		warned(t, `{"Node Type":"Seq Scan","Relation Name":"x"}`, tools.Scanned{Schema: "a", Name: "x", Bytes: 5}, tools.Scanned{Schema: "b", Name: "x", Bytes: 20 << 20}))
}

// Whoever asks for measured plans is told why there are none, however it is asked.
func TestAnalyzeIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{
		`{"statement":"select 1","analyze":true,"reason":"r"}`, `{"statement":"select 1","Analyze":1,"reason":"r"}`, `{"statement":"select 1","buffers":true,"reason":"r"}`,
		`{"statement":"explain analyze select 1","reason":"r"}`, `{"statement":"EXPLAIN (ANALYZE, BUFFERS) select 1","reason":"r"}`, `{"statement":"explain (format json, costs off, analyze) select 1","reason":"r"}`,
		`{"statement":"analyze select 1","reason":"r"}`, `{"statement":"(analyze) select 1","reason":"r"}`, `{"statement":" ANALYSE VERBOSE select 1","reason":"r"}`, `{"statement":"explain verbose analyze select 1","reason":"r"}`, `{"statement":"explain analyze delete from items","reason":"r"}`,
	} {
		b := setup(t)
		_, err := b.call(t, "explain_plan", arguments)
		e, ok := refusal.As(err)
		require.True(t, ok, arguments)
		require.Contains(t, e.Hint, "explain_plan has no ANALYZE", arguments)
		require.Empty(t, b.reads.queries)
	}
	for arguments, hint := range map[string]string{
		`{"statement":"explain select 1","reason":"r"}`:             "the SELECT alone",
		`{"statement":"delete from items","reason":"r"}`:            "preview",
		`{"statement":"select analyze from","reason":"r"}`:          "Correct the SQL",
		`{"statement":"select 1","verbose":true,"reason":"r"}`:      "explain_plan takes",
		`{"statement":"update items set id = 1","reason":"r"}`:      "preview",
		`{"statement":"insert into items values (1)","reason":"r"}`: "preview",
	} {
		_, err := setup(t).call(t, "explain_plan", arguments)
		e, ok := refusal.As(err)
		require.True(t, ok, arguments)
		require.NotContains(t, e.Hint, "ANALYZE", arguments)
		require.Contains(t, e.Hint, hint, arguments)
	}
}

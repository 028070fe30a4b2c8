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

type description struct {
	Tables    []json.RawMessage
	Truncated bool
	Hint      string
}

func (b *bundle) description(t *testing.T, arguments string) description {
	t.Helper()
	out := b.succeed(t, "describe_schema", arguments)
	require.Less(t, len(out), 70_000)
	var d description
	require.NoError(t, json.Unmarshal([]byte(out), &d))
	require.NotNil(t, d.Tables)
	return d
}

// relations makes n relations in two schemas, of which each takes so many bytes.
func relations(n, full, summary int) func(tools.DescribeRequest) []tools.Described {
	return func(req tools.DescribeRequest) []tools.Described {
		var out []tools.Described
		for i := range n {
			schema := []string{"app", "Sales"}[i%2]
			if req.Schema != "" && req.Schema != schema {
				continue
			}
			name := fmt.Sprintf("t%d", i)
			if req.Table != "" && req.Table != name {
				continue
			}
			if req.Like != "" && !strings.HasPrefix(name, strings.TrimSuffix(req.Like, "%")) {
				continue
			}
			out = append(out, tools.Described{Schema: schema, Table: name, Summary: entry(schema, name, summary)})
		}
		if req.Full && (req.Budget == 0 || len(out)*full < 2*req.Budget) {
			for i, d := range out {
				out[i].Entry = entry(d.Schema, d.Table, full)
			}
		}
		return out
	}
}

func entry(schema, name string, size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"schema":%q,"table":%q,"x":%q}`, schema, name, strings.Repeat("x", size)))
}

func TestDescribeFits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = relations(10, 1000, 100)
	d := b.description(t, ``)
	require.Len(t, d.Tables, 10)
	require.False(t, d.Truncated)
	require.Empty(t, d.Hint)
	require.Equal(t, []tools.DescribeRequest{{Full: true, Budget: 57_000}}, b.reads.asked)
	d = b.description(t, `{"detail":"summary"}`)
	require.Len(t, d.Tables, 10)
	require.False(t, d.Truncated)
}

func TestDescribeTooMuchIsTheSummary(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = relations(100, 1000, 100)
	d := b.description(t, `{"detail":"full"}`)
	require.Len(t, d.Tables, 100)
	require.True(t, d.Truncated)
	require.Contains(t, d.Hint, `{"schema":"app","table":"t0"}`)
}

func TestDescribeThousandsOfTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = relations(3000, 4000, 100)
	d := b.description(t, `{}`)
	require.True(t, d.Truncated)
	require.Greater(t, len(d.Tables), 300)
	require.Contains(t, d.Hint, "of 3,000 are shown")
	require.Contains(t, d.Hint, `"Sales" (1500), app (1500)`)
	// One schema of them is still too much: there are patterns, and each of them leads on.
	d = b.description(t, `{"schema":"\"Sales\""}`)
	require.True(t, d.Truncated)
	require.Contains(t, d.Hint, "such as t1* (556), t2* (555), t3* (56)")
	d = b.description(t, `{"schema":"\"Sales\"","table":"t29*"}`)
	require.True(t, d.Truncated)
	require.Len(t, d.Tables, 56)
	d = b.description(t, `{"schema":"\"Sales\"","table":"t299*"}`)
	require.Len(t, d.Tables, 6)
	require.False(t, d.Truncated)
}

// One table is always shown whole: there is no smaller thing to ask for.
func TestDescribeOneTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = func(req tools.DescribeRequest) []tools.Described {
		require.Equal(t, tools.DescribeRequest{Schema: "app", Table: "items", OID: 20000, Full: true}, req)
		return []tools.Described{{Schema: "app", Table: "items", Entry: json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)}}
	}
	for _, arguments := range []string{`{"table":"app.items"}`, `{"table":"items"}`, `{"schema":"app","table":"items"}`, `{"schema":"APP","table":"App.Items"}`} {
		out := b.succeed(t, "describe_schema", arguments)
		require.Greater(t, len(out), 100_000)
		require.Contains(t, out, `"truncated":false`)
	}
}

func TestDescribeNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = relations(4, 10, 10)
	d := b.description(t, `{"schema":"nope"}`)
	require.Empty(t, d.Tables)
	require.Equal(t, `There is nothing readable in schema nope. Schemas: "Sales" (2), app (2).`, d.Hint)
	require.Equal(t, `There is nothing readable in schema sales. Did you mean "Sales"? Schemas: "Sales" (2), app (2).`, b.description(t, `{"schema":"sales"}`).Hint)
	require.Equal(t, `There is no readable table like "app.zz*". Schemas: "Sales" (2), app (2).`, b.description(t, `{"table":"app.zz*"}`).Hint)
	b.reads.describe = relations(0, 0, 0)
	require.Contains(t, b.description(t, `{}`).Hint, "allowlist.read")
}

// A * outside double quotes stands for any letters; nothing else of a pattern is special.
func TestDescribePatterns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = func(req tools.DescribeRequest) []tools.Described {
		return []tools.Described{{Schema: "app", Table: "x", Entry: json.RawMessage(`{}`), Summary: json.RawMessage(`{}`)}}
	}
	for arguments, want := range map[string]tools.DescribeRequest{
		`{"table":"ord*"}`:                                {Like: `ord%`},
		`{"table":"app.Ord*s"}`:                           {Schema: "app", Like: `ord%s`},
		`{"table":"\"My App\".*_100%*"}`:                  {Schema: "My App", Like: `%\_100\%%`},
		`{"schema":"app","table":"v1.x*"}`:                {Schema: "app", Like: `v1.x%`},
		`{"schema":"app","table":"app.x*"}`:               {Schema: "app", Like: `x%`},
		`{"schema":"app","table":"*back\\slash*\"x y\""}`: {Schema: "app", Like: `%back\\slash%x y`},
	} {
		b.reads.asked = nil
		b.succeed(t, "describe_schema", arguments)
		want.Full, want.Budget = true, 57_000
		require.Equal(t, []tools.DescribeRequest{want}, b.reads.asked, arguments)
	}
	// Inside quotes it is a letter of a name.
	_, err := b.call(t, "describe_schema", `{"table":"app.\"x*\""}`)
	require.True(t, refusal.Is(err, refusal.InvalidTableName))
	b.reads.describe = relations(0, 0, 0)
	_, err = b.call(t, "describe_schema", `{"table":"1a.x*"}`)
	require.True(t, refusal.Is(err, refusal.InvalidTableName))
}

// The partitions of one table come only where the full description was asked for by name.
func TestDescribePartitionsOnRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = func(tools.DescribeRequest) []tools.Described {
		return []tools.Described{{Schema: "app", Table: "items", Entry: json.RawMessage(`{"partitions":{"count":400}}`), Summary: json.RawMessage(`{}`)}}
	}
	require.Contains(t, b.description(t, `{"table":"app.items"}`).Hint, `detail "full"`)
	require.False(t, b.reads.asked[0].Children)
	require.Empty(t, b.description(t, `{"table":"app.items","detail":"full"}`).Hint)
	require.True(t, b.reads.asked[1].Children)
	b.description(t, `{"detail":"full"}`)
	require.False(t, b.reads.asked[2].Children, "not of all tables")
}

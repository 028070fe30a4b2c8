package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
		size := summary
		if req.Full {
			size = full
		}
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
			entry := fmt.Sprintf(`{"schema":%q,"table":%q,"x":%q}`, schema, name, strings.Repeat("x", size))
			out = append(out, tools.Described{Schema: schema, Table: name, Entry: json.RawMessage(entry)})
		}
		return out
	}
}

func TestDescribeFits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = relations(10, 1000, 100)
	d := b.description(t, ``)
	require.Len(t, d.Tables, 10)
	require.False(t, d.Truncated)
	require.Empty(t, d.Hint)
	require.Equal(t, []tools.DescribeRequest{{Full: true}}, b.reads.asked)
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
	// One schema of them is still too much, and says so in the same way.
	require.True(t, b.description(t, `{"schema":"\"Sales\""}`).Truncated)
}

// One table is always shown whole: there is no smaller thing to ask for.
func TestDescribeOneTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reads.describe = func(req tools.DescribeRequest) []tools.Described {
		require.Equal(t, tools.DescribeRequest{Schema: "app", Table: "items", Full: true}, req)
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
	b.reads.describe = relations(0, 0, 0)
	require.Contains(t, b.description(t, `{}`).Hint, "allowlist.read")
}

package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// args are the arguments of a tool call.
type args = map[string]any

// place is one argument of one tool that takes text, or anything, from an agent.
type place struct {
	name string // the argument's name in the tool's schema
	// with returns arguments that are right but for text, which stands in this place.
	with func(text string) args
}

// row is what the matrix knows of one tool.
type row struct {
	tool   string
	places []place
	plain  []string // arguments that take no text: their types are tested by odd arguments
	// sound are arguments that the tool accepts in the world of world.sql.
	sound func() args
	// write is set for tools that make plans.
	write *writer
}

// writer makes a plan with a write tool.
type writer struct {
	// args are arguments of a change that is different for every n from 1 to 100, and that changes
	// one row, or one definition.
	args func(n int) args
	// done tells whether the change of n is in the database.
	done func(t testing.TB, db *pgtemp.DB, n int) bool
}

// matrix has a row for every tool and in it a place for every argument. TestMatrixIsWhole fails
// when a tool or an argument is added without one.
var matrix = []row{
	{
		tool:  "describe_schema",
		sound: func() args { return args{} },
		places: []place{
			{"schema", func(s string) args { return args{"schema": s} }},
			{"table", func(s string) args { return args{"table": s} }},
			{"detail", func(s string) args { return args{"detail": s} }},
			{"reason", func(s string) args { return args{"table": "app.item", "reason": s} }},
		},
	},
	{
		tool:  "query",
		plain: []string{"limit"},
		sound: func() args { return args{"statement": "SELECT 1 AS one", "reason": "test"} },
		places: []place{
			{"statement", func(s string) args { return args{"statement": s, "reason": "test"} }},
			{"params", func(s string) args {
				return args{"statement": "SELECT $1::text AS x", "params": []any{s}, "reason": "test"}
			}},
			{"reason", func(s string) args { return args{"statement": "SELECT 1", "reason": s} }},
		},
	},
	{
		tool:  "explain_plan",
		sound: func() args { return args{"statement": "SELECT * FROM app.item", "reason": "test"} },
		places: []place{
			{"statement", func(s string) args { return args{"statement": s, "reason": "test"} }},
			{"params", func(s string) args {
				return args{"statement": "SELECT $1::text", "params": []any{s}, "reason": "test"}
			}},
			{"reason", func(s string) args { return args{"statement": "SELECT 1", "reason": s} }},
		},
	},
	{
		tool:  "delete_rows",
		plain: []string{"confirm_full_table"},
		sound: func() args {
			return args{"table": "app.item", "where": "id = $1", "params": []any{1}, "reason": "test"}
		},
		places: []place{
			{"table", func(s string) args { return args{"table": s, "where": "id = 1", "reason": "test"} }},
			{"where", func(s string) args { return args{"table": "app.parent", "where": s, "reason": "test"} }},
			{"params", func(s string) args {
				return args{"table": "app.parent", "where": "name = $1", "params": []any{s}, "reason": "test"}
			}},
			{"reason", func(s string) args { return args{"table": "app.item", "where": "id = 1", "reason": s} }},
		},
		write: &writer{
			args: func(n int) args {
				return args{"table": "app.item", "where": "id = $1", "params": []any{n}, "reason": "test"}
			},
			done: func(t testing.TB, db *pgtemp.DB, n int) bool {
				return number(t, db, "SELECT count(*) FROM app.item WHERE id = $1", n) == 0
			},
		},
	},
	{
		tool: "insert_rows",
		sound: func() args {
			return args{"table": "app.item", "columns": []any{"name"}, "rows": []any{[]any{"x"}}, "reason": "test"}
		},
		places: []place{
			{"table", func(s string) args {
				return args{"table": s, "columns": []any{"name"}, "rows": []any{[]any{"x"}}, "reason": "test"}
			}},
			{"columns", func(s string) args {
				return args{"table": "app.item", "columns": []any{s}, "rows": []any{[]any{"x"}}, "reason": "test"}
			}},
			{"rows", func(s string) args {
				return args{"table": "app.item", "columns": []any{"name"}, "rows": []any{[]any{s}}, "reason": "test"}
			}},
			{"reason", func(s string) args {
				return args{"table": "app.item", "columns": []any{"name"}, "rows": []any{[]any{"x"}}, "reason": s}
			}},
		},
		write: &writer{
			args: func(n int) args {
				return args{"table": "app.item", "columns": []any{"name"}, "rows": []any{[]any{fmt.Sprintf("new %d", n)}}, "reason": "test"}
			},
			done: func(t testing.TB, db *pgtemp.DB, n int) bool {
				return number(t, db, "SELECT count(*) FROM app.item WHERE name = $1", fmt.Sprintf("new %d", n)) > 0
			},
		},
	},
	{
		tool:  "update_rows",
		plain: []string{"confirm_full_table"},
		sound: func() args {
			return args{"table": "app.item", "set": args{"qty": 5}, "where": "id = $1", "params": []any{1}, "reason": "test"}
		},
		places: []place{
			{"table", func(s string) args {
				return args{"table": s, "set": args{"name": "x"}, "where": "id = 1", "reason": "test"}
			}},
			{"set", func(s string) args {
				return args{"table": "app.item", "set": args{s: "x"}, "where": "id = 1", "reason": "test"}
			}},
			{"set", func(s string) args {
				return args{"table": "app.item", "set": args{"name": s}, "where": "id = 1", "reason": "test"}
			}},
			{"set_expressions", func(s string) args {
				return args{"table": "app.item", "set": args{}, "set_expressions": args{"name": s}, "where": "id = 1", "reason": "test"}
			}},
			{"set_expressions", func(s string) args {
				return args{"table": "app.item", "set": args{}, "set_expressions": args{s: "'x'"}, "where": "id = 1", "reason": "test"}
			}},
			{"where", func(s string) args {
				return args{"table": "app.parent", "set": args{"name": "x"}, "where": s, "reason": "test"}
			}},
			{"params", func(s string) args {
				return args{"table": "app.item", "set": args{"name": "x"}, "where": "name = $1", "params": []any{s}, "reason": "test"}
			}},
			{"reason", func(s string) args {
				return args{"table": "app.item", "set": args{"name": "x"}, "where": "id = 1", "reason": s}
			}},
		},
		write: &writer{
			args: func(n int) args {
				return args{"table": "app.item", "set": args{"name": fmt.Sprintf("set %d", n)}, "where": "id = $1", "params": []any{1 + n%50}, "reason": "test"}
			},
			done: func(t testing.TB, db *pgtemp.DB, n int) bool {
				return number(t, db, "SELECT count(*) FROM app.item WHERE name = $1", fmt.Sprintf("set %d", n)) > 0
			},
		},
	},
	{
		tool:  "run_migration",
		sound: func() args { return args{"statement": "CREATE TABLE app.sound (id integer)", "reason": "test"} },
		places: []place{
			{"statement", func(s string) args { return args{"statement": s, "reason": "test"} }},
			{"reason", func(s string) args {
				return args{"statement": "CREATE TABLE app.reasoned (id integer)", "reason": s}
			}},
		},
		write: &writer{
			args: func(n int) args {
				return args{"statement": fmt.Sprintf("CREATE TABLE app.made_%d (id integer)", n), "reason": "test"}
			},
			done: func(t testing.TB, db *pgtemp.DB, n int) bool {
				return number(t, db, "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)", fmt.Sprintf("app.made_%d", n)) == 1
			},
		},
	},
	{
		tool:  "execute_plan",
		sound: func() args { return args{"plan_token": "nobody-knows-this-token", "statement": "DELETE FROM app.item"} },
		places: []place{
			{"plan_token", func(s string) args { return args{"plan_token": s, "statement": "DELETE FROM app.item"} }},
			{"statement", func(s string) args { return args{"plan_token": "nobody-knows-this-token", "statement": s} }},
			{"params", func(s string) args {
				return args{"plan_token": "nobody-knows-this-token", "statement": "DELETE FROM app.item", "params": []any{s}}
			}},
			{"fingerprint", func(s string) args {
				return args{"plan_token": "nobody-knows-this-token", "statement": "DELETE FROM app.item", "fingerprint": s}
			}},
			{"reason", func(s string) args {
				return args{"plan_token": "nobody-knows-this-token", "statement": "DELETE FROM app.item", "reason": s}
			}},
		},
	},
}

// writers are the rows of tools that make plans.
func writers() []row {
	var out []row
	for _, r := range matrix {
		if r.write != nil {
			out = append(out, r)
		}
	}
	return out
}

// forWriters runs f as a parallel subtest for every tool that makes plans.
func forWriters(t *testing.T, f func(t *testing.T, r row)) {
	t.Helper()
	for _, r := range writers() {
		t.Run(r.tool, func(t *testing.T) {
			t.Parallel()
			f(t, r)
		})
	}
}

func TestMatrixIsWhole(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), options{})
	var list struct {
		Tools []struct {
			Name   string `json:"name"`
			Schema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"inputSchema"`
			Annotations struct {
				ReadOnly bool `json:"readOnlyHint"`
			} `json:"annotations"`
		} `json:"tools"`
	}
	require.NoError(t, json.Unmarshal(s.request("tools/list", args{}).wait().Result, &list))
	var listed []string
	for _, tool := range list.Tools {
		listed = append(listed, tool.Name)
		i := slices.IndexFunc(matrix, func(r row) bool { return r.tool == tool.Name })
		require.GreaterOrEqual(t, i, 0, "%s has no row in the matrix: the safety tests do not run on it", tool.Name)
		have := map[string]bool{}
		for _, p := range matrix[i].places {
			have[p.name] = true
		}
		for _, p := range matrix[i].plain {
			have[p] = true
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(tool.Schema.Properties)), slices.Collect(maps.Keys(have)), "the arguments of %s", tool.Name)
		if tool.Annotations.ReadOnly || tool.Name == "execute_plan" {
			require.Nil(t, matrix[i].write, tool.Name)
		} else {
			require.NotNil(t, matrix[i].write, "%s makes plans and has no writer in the matrix", tool.Name)
		}
	}
	var rows []string
	for _, r := range matrix {
		rows = append(rows, r.tool)
	}
	require.ElementsMatch(t, listed, rows)
	// The sound arguments are sound: what the odd ones are compared with.
	for _, r := range matrix {
		got := s.call(r.tool, r.sound())
		if r.tool == "execute_plan" {
			got.refused(t, "UNKNOWN_TOKEN")
			continue
		}
		got.ok(t, nil)
	}
}

// preview is the reply of a tool that makes a plan.
type preview struct {
	Status      string            `json:"status"`
	Token       string            `json:"plan_token"`
	Statement   string            `json:"statement"`
	Params      []json.RawMessage `json:"params"`
	Affected    int64             `json:"affected_rows"`
	Target      string            `json:"target"`
	Fingerprint string            `json:"fingerprint"`
	ApprovalURL string            `json:"approval_url"`
	Message     string            `json:"message"`
	Expires     string            `json:"expires_at"`
	Changes     json.RawMessage   `json:"changes"`
	Sample      []json.RawMessage `json:"sample_rows"`
	Radius      struct {
		Total  int64 `json:"total_rows"`
		Tables []struct {
			Table    string `json:"table"`
			Inserted int64  `json:"inserted"`
			Updated  int64  `json:"updated"`
			Deleted  int64  `json:"deleted"`
		} `json:"tables"`
	} `json:"blast_radius"`
	Warnings []struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"warnings"`
}

// echo is what execute_plan must be given back.
func (p preview) echo() args {
	return args{"plan_token": p.Token, "statement": p.Statement, "params": p.Params}
}

// warned reports whether the preview carries a warning of that code.
func (p preview) warned(code string) bool {
	for _, w := range p.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

// preview calls a tool that makes a plan and requires one.
func (s *server) preview(tool string, a any) preview {
	s.t.Helper()
	var p preview
	s.call(tool, a).ok(s.t, &p)
	require.NotEmpty(s.t, p.Token)
	require.Len(s.t, p.Fingerprint, 64)
	require.Contains(s.t, []string{"previewed", "awaiting_approval"}, p.Status)
	return p
}

// executed is the reply of execute_plan.
type executed struct {
	Status   string            `json:"status"`
	Token    string            `json:"plan_token"`
	Affected int64             `json:"affected_rows"`
	Rows     []json.RawMessage `json:"rows"`
}

// execute executes a plan and requires that it committed.
func (s *server) execute(p preview) executed {
	s.t.Helper()
	var e executed
	s.call("execute_plan", p.echo()).ok(s.t, &e)
	require.Equal(s.t, "executed", e.Status)
	require.Equal(s.t, p.Token, e.Token)
	return e
}

// everyPlanWaits makes every plan need a person.
func everyPlanWaits() options {
	return options{config: map[string]any{"write": map[string]any{"approvalRequiredAboveRows": 0}}}
}

package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func on(t *testing.T, r toolpolicy.Rule, tables ...string) toolpolicy.Rule {
	t.Helper()
	for _, text := range tables {
		p, err := toolpolicy.ParsePattern(text)
		require.NoError(t, err)
		r.Tables = append(r.Tables, p)
	}
	return r
}

const ruledSQL = `CREATE TABLE parent (id int PRIMARY KEY, tenant int, v int); INSERT INTO parent SELECT g, g % 3, 0 FROM generate_series(1, 300) g;
	CREATE TABLE payments (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE, tenant int, amount int); INSERT INTO payments SELECT g, g, g % 3, 1 FROM generate_series(1, 300) g;
	CREATE TABLE ledger (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE SET NULL); INSERT INTO ledger VALUES (1, 7);
	CREATE VIEW seen AS SELECT * FROM payments;`

func ruledBundle(t *testing.T, rules ...toolpolicy.Rule) *bundle {
	t.Helper()
	return setup(t, ruledSQL, func(o *writecore.Options) { o.Limits.Rules = rules })
}

// What the text says is refused before anything runs.
func TestRulesByText(t *testing.T) {
	t.Parallel()
	b := ruledBundle(t,
		on(t, toolpolicy.Rule{Operations: []toolpolicy.Operation{toolpolicy.Delete}, Deny: true}, "app.payments"),
		on(t, toolpolicy.Rule{ReadonlyColumns: []string{"id"}, WhereColumns: []string{"tenant"}}, "app.pay*"),
		on(t, toolpolicy.Rule{Operations: []toolpolicy.Operation{toolpolicy.Migration}, Deny: true}, "app.ledger"),
	)
	set := func(column string) []sqlguard.SetValue {
		return []sqlguard.SetValue{{Column: column, Value: []byte("9")}}
	}
	_, err := b.delete("app.payments", "tenant = 1")
	require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 1 does not allow delete on app.payments")
	_, err = b.update("app.payments", set("id"), nil, "tenant = 1 AND id = 1")
	require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 2 does not let the column id")
	_, err = b.update("app.payments", nil, []sqlguard.SetExpr{{Column: "id", Expr: "id + 1"}}, "tenant = 1 AND id = 1")
	require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 2 does not let the column id")
	_, err = b.insert("app.payments", []string{"id"}, raws("900"))
	require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 2 does not let the column id")
	for _, where := range []string{"id = 1", "tenant = 1 OR id = 1", "NOT tenant = 1", "tenant <> 1"} {
		_, err = b.update("app.payments", set("amount"), nil, where)
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "restrict the column tenant", where)
	}
	_, err = b.update("app.payments", set("amount"), nil, "tenant = 1 AND id < 10")
	require.NoError(t, err)
	_, err = b.migrate("ALTER TABLE app.ledger ADD COLUMN x int")
	require.Contains(t, requireCode(t, err, refusal.RuleDenied), "migration on app.ledger")
	_, err = b.migrate("ALTER TABLE app.payments ADD COLUMN x int")
	require.NoError(t, err)
	require.Equal(t, "300", b.one("SELECT count(*) FROM app.payments WHERE amount = 1"))
	require.NotEqual(t, "0", b.one("SELECT count(*) FROM mcp_audit.log WHERE error_code = 'RULE_DENIED'"))
}

// What a statement reaches counts like what it names: by cascade, by trigger, through a view.
func TestRulesByEffect(t *testing.T) {
	t.Parallel()
	t.Run("deny by cascade", func(t *testing.T) {
		t.Parallel()
		b := ruledBundle(t, on(t, toolpolicy.Rule{Operations: []toolpolicy.Operation{toolpolicy.Update}, Deny: true}, "app.ledger"))
		_, err := b.delete("app.parent", "id = 7")
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 1 does not allow update on app.ledger")
		_, err = b.delete("app.parent", "id = 8")
		require.NoError(t, err)
	})
	t.Run("always asks by cascade", func(t *testing.T) {
		t.Parallel()
		b := ruledBundle(t, on(t, toolpolicy.Rule{AlwaysAsk: true}, "app.payments"))
		r, err := b.delete("app.parent", "id = 8")
		require.NoError(t, err)
		require.Equal(t, plan.AwaitingApproval, r.Plan.State)
		require.Contains(t, r.Plan.Why, "rule 1: app.payments always asks")
		r, err = b.update("app.parent", setV("1"), nil, "id = 8")
		require.NoError(t, err)
		require.Equal(t, plan.Previewed, r.Plan.State)
		r, err = b.delete("app.seen", "id = 9") // through a view
		require.NoError(t, err)
		require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	})
	t.Run("the view itself", func(t *testing.T) {
		t.Parallel()
		b := ruledBundle(t, on(t, toolpolicy.Rule{Deny: true}, "app.seen"))
		_, err := b.delete("app.seen", "id = 9")
		requireCode(t, err, refusal.RuleDenied)
	})
	t.Run("thresholds of its own", func(t *testing.T) {
		t.Parallel()
		b := ruledBundle(t, on(t, toolpolicy.Rule{ApprovalAbove: new(int64(200)), HardMax: new(int64(250))}, "app.payments"))
		free, err := b.update("app.payments", []sqlguard.SetValue{{Column: "amount", Value: []byte("2")}}, nil, "id <= 200")
		require.NoError(t, err)
		require.Equal(t, plan.Previewed, free.Plan.State, "200 rows are above the general threshold, not above the rule's")
		asked, err := b.update("app.payments", []sqlguard.SetValue{{Column: "amount", Value: []byte("2")}}, nil, "id <= 201")
		require.NoError(t, err)
		require.Equal(t, plan.AwaitingApproval, asked.Plan.State)
		require.Contains(t, asked.Plan.Why, "rule 1 asks above 200 rows of app.payments, and 201 change")
		capped := func(err error) {
			require.Contains(t, requireCode(t, err, refusal.HardMaxRowsExceeded), "Rule 1, for app.payments")
			r, _ := refusal.As(err)
			require.Contains(t, r.Hint, "the hardMaxRows of rule 1 in write.rules", "the key to look at")
		}
		_, err = b.update("app.payments", []sqlguard.SetValue{{Column: "amount", Value: []byte("2")}}, nil, "id <= 251")
		capped(err)
		_, err = b.delete("app.parent", "id <= 251") // by cascade
		capped(err)
		both, err := b.delete("app.parent", "id <= 101") // the parent's own rows count for the general threshold
		require.NoError(t, err)
		require.Equal(t, plan.AwaitingApproval, both.Plan.State)
		less, err := b.delete("app.parent", "id <= 99")
		require.NoError(t, err)
		require.Equal(t, plan.Previewed, less.Plan.State, "99 rows of the parent, 99 of payments under their own threshold")
	})
	t.Run("executed as decided", func(t *testing.T) {
		t.Parallel()
		b := ruledBundle(t, on(t, toolpolicy.Rule{AlwaysAsk: true}, "app.payments"))
		r, err := b.delete("app.payments", "id = 1")
		require.NoError(t, err)
		b.approve(r)
		_, err = b.execute(r)
		require.NoError(t, err)
	})
}

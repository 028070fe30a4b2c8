package approvalui_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TestPlansOfAnEarlierSession: a plan that the journal brought back may have no statement, rows or
// words. Nothing is claimed about them: not "all rows", not an empty quotation.
func TestPlansOfAnEarlierSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plans.jsonl")
	journal, err := plan.OpenJournal(path)
	require.NoError(t, err)
	store := plan.NewStore(plan.Options{Journal: journal, PlanTTL: time.Minute, ApprovalTTL: time.Minute, MaxOpen: 10})
	var tokens []plan.Token
	for _, p := range []plan.Preview{cascade(), repricing(), dropColumn(), importRows()} {
		made, _, err := store.Create(p, true)
		require.NoError(t, err)
		_, _, err = store.Approve(made.Token, "Ada")
		require.NoError(t, err)
		run, err := store.Begin(made.Token, planEcho(made))
		require.NoError(t, err)
		run.Unknown("The connection was lost.")
		tokens = append(tokens, made.Token)
	}
	store.Close()
	journal.Close()

	journal, err = plan.OpenJournal(path)
	require.NoError(t, err)
	t.Cleanup(journal.Close)
	b := setup(t, func(_ *approvalui.Options, o *plan.Options) { o.Journal = journal })
	_, body, _ := b.ask("GET", "/api/plans?all=1", "")
	titles := map[string]bool{}
	for _, p := range body["plans"].([]any) {
		c := p.(map[string]any)
		require.Empty(t, c["statement"])
		require.Equal(t, "outcome_unknown", c["state"])
		titles[c["render"].(map[string]any)["title"].(string)] = true
	}
	require.Equal(t, map[string]bool{
		"Delete 8 rows from public.customers. 320 rows in public.orders and 512 in public.order_items go with them.": true,
		"Change 240 rows of public.products.": true, "Add 400 rows to public.products.": true, "Change the definition of public.orders.": true,
	}, titles)

	ctx := browser(t)
	watch(t, ctx, b)
	look(t, ctx, 1280, "light")
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelectorAll('.receipt').length === 4`)
	require.Contains(t, eval[string](t, ctx, `document.querySelector('.receipt').textContent`), "Not known yet whether it was saved")
	shoot(t, ctx, "restored")
	eval[bool](t, ctx, `(location.hash = '#plan/`+string(tokens[0])+`') !== ''`)
	until(t, ctx, `document.querySelector('.chain') !== null`)
	text := eval[string](t, ctx, `document.querySelector('.chain').textContent`)
	require.Contains(t, text, "not known any more")
	require.Contains(t, text, "an earlier session")
	require.False(t, eval[bool](t, ctx, `document.querySelector('.agent') !== null`), "nobody's words are left")
	shoot(t, ctx, "restored-plan")
}

// TestMigrationFactsOnTheCard: what is scanned and whose name goes stands on the card.
func TestMigrationFactsOnTheCard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := dropColumn()
	p.Facts = &plan.Facts{Scans: []string{"public.orders", "public.big"}, Rewrites: []string{"public.big"}}
	p.Warnings = []plan.Warning{{Code: plan.WarnNameInUse, Message: "The column total_amount is still used by public.report()."}, {Code: plan.WarnScansTable, Message: "public.orders is read from end to end under the migration's lock."}}
	b.add(p)
	_, body, _ := b.ask("GET", "/api/plans", "")
	c := body["plans"].([]any)[0].(map[string]any)
	var lines []string
	for _, l := range c["facts"].(map[string]any)["lines"].([]any) {
		lines = append(lines, l.(map[string]any)["name"].(string)+" "+l.(map[string]any)["word"].(string))
	}
	require.Equal(t, []string{"public.big rewritten", "public.orders scanned"}, lines, "what is rewritten is read anyway, and said once")
	require.Equal(t, "check", c["level"])
	w := c["warnings"].([]any)
	require.Equal(t, []any{plan.WarnNameInUse, "check"}, []any{w[0].(map[string]any)["code"], w[0].(map[string]any)["voice"]})
	require.Equal(t, []any{plan.WarnScansTable, "note"}, []any{w[1].(map[string]any)["code"], w[1].(map[string]any)["voice"]})
}

package approvalui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// reviewer is what the core does for the page, without the audit: the real store decides.
type reviewer struct{ *plan.Store }

func (r reviewer) Plans(bool) []plan.Plan { return r.List() }

func (r reviewer) Approve(_ context.Context, t plan.Token, actor string) (plan.Plan, bool, error) {
	return r.Store.Approve(t, actor)
}

func (r reviewer) Reject(_ context.Context, t plan.Token, actor, reason string) (plan.Plan, bool, error) {
	return r.Store.Reject(t, actor, reason)
}

// bundle is a running page over a real store.
type bundle struct {
	t     testing.TB
	store *plan.Store
	page  *approvalui.Server
	token string
	ctx   context.Context // the browser's, once there is one
}

type option func(*approvalui.Options, *plan.Options)

func setup(t testing.TB, opts ...option) *bundle {
	t.Helper()
	o := approvalui.Options{
		RequireAuth: true, ConfirmAboveRows: 1000, Database: "shop", Host: "localhost:5432", Role: "writer", MigrationRole: "migrator",
		Caller: "claude-desktop", Version: "0.1.0", Person: "on-call", ApprovalRequiredAboveRows: 100, HardMaxRows: 10000,
	}
	so := plan.Options{PlanTTL: time.Minute, ApprovalTTL: 10 * time.Minute, MaxOpen: 2000}
	for _, f := range opts {
		f(&o, &so)
	}
	store := plan.NewStore(so)
	t.Cleanup(store.Close)
	if o.Reviewer == nil {
		o.Reviewer = reviewer{store}
	}
	if r, ok := o.Reviewer.(slowList); ok {
		store = r.Store
	}
	o.Ledger = store
	if n, ok := o.Watcher.(*nudged); ok {
		n.Store = store
	} else {
		o.Watcher = store
	}
	page, err := approvalui.New(o)
	require.NoError(t, err)
	require.NoError(t, page.Listen())
	done := make(chan error, 1)
	go func() { done <- page.Serve(context.Background()) }()
	t.Cleanup(func() {
		page.Close()
		require.NoError(t, <-done)
	})
	_, secret, _ := strings.Cut(page.SecretURL(), "token=")
	return &bundle{t: t, store: store, page: page, token: secret}
}

// add puts a plan that waits for a person into the store.
func (b *bundle) add(p plan.Preview) plan.Plan {
	b.t.Helper()
	made, _, err := b.store.Create(p, true)
	require.NoError(b.t, err)
	return made
}

// ask sends a request with the secret and JSON; mod may change anything.
func (b *bundle) ask(method, path, body string, mod ...func(*http.Request)) (int, map[string]any, http.Header) {
	b.t.Helper()
	req, err := http.NewRequest(method, strings.TrimSuffix(b.page.URL(), "/")+path, strings.NewReader(body))
	require.NoError(b.t, err)
	req.Header.Set("Authorization", "Bearer "+b.token)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, f := range mod {
		f(req)
	}
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(b.t, err)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	out := map[string]any{}
	if len(raw) > 0 && strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		require.NoError(b.t, json.Unmarshal(bytes.TrimSpace(raw), &out), string(raw))
	} else {
		out["text"] = string(raw)
	}
	return res.StatusCode, out, res.Header
}

func raw(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

func row(kv ...any) plan.Row {
	var out plan.Row
	for i := 0; i < len(kv); i += 2 {
		out = append(out, plan.Field{Column: kv[i].(string), Value: raw(kv[i+1])})
	}
	return out
}

// cascade deletes 8 customers and what belongs to them.
func cascade() plan.Preview {
	var rows []plan.Row
	for i := 1; i <= 8; i++ {
		email := any(fmt.Sprintf("t%d@example.test", i))
		name := fmt.Sprintf("Load test %d", i)
		if i == 5 {
			name += "\u202e"
		}
		if i == 4 {
			email = nil
		}
		rows = append(rows, row("id", 100+i, "name", name, "email", email, "last_login", "2024-03-02"))
	}
	return plan.Preview{
		Tool: "delete_rows", CallerID: "claude-desktop", Target: "public.customers", AffectedRows: 8,
		Reason:  "Clean up the tenant that was made for the load test in March: 8 customers, last seen before 2025. Their orders belong to it.",
		Payload: plan.Payload{Statement: "DELETE FROM public.customers\nWHERE tenant = $1 AND last_login < $2", Params: []json.RawMessage{raw("load-test"), raw("2025-01-01")}},
		BlastRadius: plan.BlastRadius{TotalRows: 840, Tables: []plan.Table{
			{Name: "public.customers", Deleted: 8, Named: true, RowsEstimate: new(int64(50000))},
			{Name: "public.orders", Deleted: 320, Why: "foreign key", RowsEstimate: new(int64(60000))},
			{Name: "public.order_items", Deleted: 512, Why: "foreign key", RowsEstimate: new(int64(96000))},
		}},
		SampleRows: rows,
		Warnings:   []plan.Warning{{Code: plan.WarnIndirectTable, Message: "public.order_items is not on the write allowlist. It changes only because deleting orders reaches it."}},
		Why:        "You are asked because 840 rows is more than 100.", RowsDigest: "d1",
	}
}

// repricing sets one price in 240 rows.
func repricing() plan.Preview {
	ids := []int{}
	var changes []plan.Change
	for i := range 240 {
		ids = append(ids, 1041+i*3)
	}
	for i, before := range []any{"24.90", "9.50", "31.00", "1299.00", nil, "18.00", "22.40", "12.90", "14.90", "11.00"} {
		changes = append(changes, plan.Change{Key: row("id", 1041+i), Before: row("price", before), After: row("price", "9.90")})
	}
	return plan.Preview{
		Tool: "update_rows", CallerID: "claude-desktop", Target: "public.products", AffectedRows: 240,
		Reason:      "Everything on the clearance shelf should cost 9.90, as in the price list you gave me.",
		Payload:     plan.Payload{Statement: "UPDATE public.products SET price = $2\nWHERE id = ANY ($1)", Params: []json.RawMessage{raw(ids), json.RawMessage("9.90")}},
		BlastRadius: plan.BlastRadius{TotalRows: 240, Tables: []plan.Table{{Name: "public.products", Updated: 240, Named: true, RowsEstimate: new(int64(2000))}}},
		Changes:     changes, SetColumns: []string{"price"},
		Why: "You are asked because 240 rows is more than 100.", RowsDigest: "d2",
	}
}

// dropColumn loses 60,000 values and a view.
func dropColumn() plan.Preview {
	return plan.Preview{
		Tool: "run_migration", CallerID: "claude-desktop", Target: "public.orders",
		Reason:      "URGENT: total_amount is unused and the database owner has already approved this.\u200b It is safe to approve without reading on.\u202e\u0007",
		Payload:     plan.Payload{Statement: "ALTER TABLE public.orders DROP COLUMN total_amount CASCADE"},
		BlastRadius: plan.BlastRadius{},
		Facts: &plan.Facts{
			Locks:      []plan.Lock{{Relation: "public.orders", Mode: "AccessExclusiveLock", HeldMS: 14.2}},
			Drops:      []plan.Drop{{Type: "column", Name: "public.orders.total_amount"}, {Type: "view", Name: "public.monthly_revenue"}},
			Lost:       []plan.Lost{{Relation: "public.orders", Column: "total_amount", NonNullValues: 60000}},
			DurationMS: 14,
		},
		Warnings: []plan.Warning{
			{Code: plan.WarnCascadeDrops, Message: "whatever reads public.monthly_revenue stops working."},
			{Code: plan.WarnDataLost, Message: "60,000 values are lost."},
		},
		Why: "You are asked because every migration asks.",
	}
}

// archive changes many rows, with a trigger that writes as many.
func archive() plan.Preview {
	return plan.Preview{
		Tool: "update_rows", CallerID: "claude-desktop", Target: "public.orders", AffectedRows: 4706,
		Reason:  "Archive old orders so that the dashboard gets faster. I only change the status.",
		Payload: plan.Payload{Statement: "UPDATE public.orders SET status = $2 WHERE created_at < $1 AND status <> $2", Params: []json.RawMessage{raw("2025-01-01"), raw("archived")}},
		BlastRadius: plan.BlastRadius{TotalRows: 9412, Tables: []plan.Table{
			{Name: "public.orders", Updated: 4706, Named: true, RowsEstimate: new(int64(60000))},
			{Name: "public.order_log", Inserted: 4706, Why: "unknown", RowsEstimate: new(int64(9880))},
		}},
		Changes: []plan.Change{
			{Key: row("id", 12), Before: row("status", "delivered"), After: row("status", "archived")},
			{Key: row("id", 13), Before: row("status", "cancelled"), After: row("status", "archived")},
			{Key: row("id", 15), Before: row("status", "open"), After: row("status", "archived")},
		},
		SetColumns: []string{"status"},
		Warnings:   []plan.Warning{{Code: plan.WarnIndirectTable, Message: "public.order_log is not on the write allowlist. It is not in the statement either."}},
		Why:        "You are asked because 9,412 rows is more than 100.", RowsDigest: "d3",
	}
}

// importRows adds 400 rows by a long statement.
func importRows() plan.Preview {
	var b strings.Builder
	b.WriteString("INSERT INTO public.products (sku, name, price) VALUES")
	var params []json.RawMessage
	for i := range 400 {
		sep := ","
		if i == 399 {
			sep = ""
		}
		fmt.Fprintf(&b, "\n  ($%d, $%d, $%d)%s", i*3+1, i*3+2, i*3+3, sep)
		params = append(params, raw(fmt.Sprintf("SP-%04d", i+1)), raw("Garden chair"), json.RawMessage("39.00"))
	}
	return plan.Preview{
		Tool: "insert_rows", CallerID: "claude-desktop", Target: "public.products", AffectedRows: 400,
		Reason:      "Import the spring catalogue. Same file as before, the request ran out of time.",
		Payload:     plan.Payload{Statement: b.String(), Params: params},
		BlastRadius: plan.BlastRadius{TotalRows: 400, Tables: []plan.Table{{Name: "public.products", Inserted: 400, Named: true, RowsEstimate: new(int64(2000))}}},
		SampleRows:  []plan.Row{row("sku", "SP-0001", "name", "Garden chair", "price", "39.00"), row("sku", "SP-0002", "name", "Garden chair, \u200bblue", "price", "39.00"), row("sku", "SP-0003", "name", "Watering can  ", "price", nil)},
		Why:         "You are asked because 400 rows is more than 100.",
	}
}

func (b *bundle) now() time.Time { return time.Now() }

// planEcho is what an agent gives back to run a plan.
func planEcho(p plan.Plan) plan.Echo {
	return plan.Echo{Payload: &p.Payload, Fingerprint: p.Fingerprint}
}

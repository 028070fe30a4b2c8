package approvalui_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func TestPlansOverTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.add(cascade())
	free, _, err := b.store.Create(repricing(), false) // needs nobody
	require.NoError(t, err)
	status, body, _ := b.ask("GET", "/api/plans", "")
	require.Equal(t, 200, status)
	require.Equal(t, true, body["ok"])
	list := body["plans"].([]any)
	require.Len(t, list, 1, "a plan that needs nobody does not wait")
	c := list[0].(map[string]any)
	require.Equal(t, string(p.Token), c["plan_token"])
	require.Equal(t, "delete_rows", c["tool"])
	require.Equal(t, "awaiting_approval", c["state"])
	require.EqualValues(t, 1, c["preview_count"])
	require.EqualValues(t, p.ExpiresAt.UnixMilli(), c["expires_at"])
	require.EqualValues(t, p.CreatedAt.UnixMilli(), c["previewed_at"])
	require.Equal(t, "claude-desktop", c["caller_id"])
	require.Equal(t, "check", c["level"])
	require.Equal(t, map[string]any{"kind": "none"}, c["confirm"])
	require.Equal(t, "You are asked because 840 rows is more than 100.", c["why"])
	require.NotContains(t, c, "payload")
	require.Nil(t, c["earlier_rejection"])
	render := c["render"].(map[string]any)
	require.Equal(t, "Delete 8 rows from public.customers. 320 rows in public.orders and 512 in public.order_items go with them.", render["title"])
	require.Contains(t, render["details"], map[string]any{"label": "Database", "value": "shop"})
	radius := c["blast_radius"].(map[string]any)
	require.EqualValues(t, 840, radius["total_rows"])
	first := radius["tables"].([]any)[0].(map[string]any)
	require.Equal(t, "public.customers", first["table"])
	require.EqualValues(t, 8, first["deleted"])
	require.Equal(t, true, first["named"])
	require.EqualValues(t, 50000, first["rows_estimate"])

	status, body, _ = b.ask("POST", "/api/plans/"+string(free.Token)+"/reject", `{"reason":"no"}`)
	require.Equal(t, 200, status, "a plan that needs no approval can be rejected")
	require.Equal(t, false, body["already_rejected"])
}

func TestPayloadOnlyWhenExposed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) { o.ExposeRawPayload = true })
	b.add(cascade())
	_, body, _ := b.ask("GET", "/api/plans", "")
	require.Equal(t, map[string]any{"statement": cascade().Payload.Statement, "params": []any{"load-test", "2025-01-01"}},
		body["plans"].([]any)[0].(map[string]any)["payload"])
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.add(repricing())
	approve, reject := "/api/plans/"+string(p.Token)+"/approve", "/api/plans/"+string(p.Token)+"/reject"
	status, body, _ := b.ask("POST", approve, `{"approvedBy":" Ana "}`)
	require.Equal(t, 200, status)
	require.Equal(t, "approved", body["status"])
	require.Equal(t, "Ana", body["approved_by"])
	require.Equal(t, false, body["already_approved"])
	status, body, _ = b.ask("POST", approve, `{"approvedBy":"Ben"}`)
	require.Equal(t, 200, status)
	require.Equal(t, true, body["already_approved"])
	require.Equal(t, "Ana", body["approved_by"], "the first decision stands")

	_, body, _ = b.ask("GET", "/api/plans", "")
	require.Empty(t, body["plans"])
	_, body, _ = b.ask("GET", "/api/plans?all=1", "")
	require.Len(t, body["plans"], 1)

	status, body, _ = b.ask("POST", reject, `{"rejectedBy":"Ben","reason":"Not now."}`)
	require.Equal(t, 200, status, "an approved plan that has not run can still be rejected")
	require.Equal(t, "Ben", body["rejected_by"])
	status, body, _ = b.ask("POST", reject, `{"rejectedBy":"Cyd","reason":"Other."}`)
	require.Equal(t, 200, status)
	require.Equal(t, true, body["already_rejected"])
	require.Equal(t, "Ben", body["rejected_by"])
	got, _ := b.store.Get(p.Token)
	require.Equal(t, "Not now.", got.Decision.Reason, "the first reason wins")
	status, body, _ = b.ask("POST", approve, `{}`)
	require.Equal(t, 409, status)
	require.Equal(t, "PLAN_REJECTED", body["code"])

	_, body, _ = b.ask("GET", "/api/history", "")
	require.Len(t, body["plans"], 1)
	_, body, _ = b.ask("GET", "/api/plans/"+string(p.Token), "")
	require.Len(t, body["history"], 2)
	again := b.add(repricing())
	_, body, _ = b.ask("GET", "/api/plans/"+string(again.Token), "")
	require.Equal(t, "Not now.", body["plan"].(map[string]any)["earlier_rejection"].(map[string]any)["reason"])
}

func TestDecisionWithoutAName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.add(repricing())
	_, body, _ := b.ask("POST", "/api/plans/"+string(p.Token)+"/approve", `{"approvedBy":"  "}`)
	require.Equal(t, "unknown", body["approved_by"])
}

func TestEndedPlansAnswerWithTheirCode(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *approvalui.Options, o *plan.Options) { o.ApprovalTTL = 50 * time.Millisecond })
	expired := b.add(repricing())
	require.Eventually(t, func() bool { p, _ := b.store.Get(expired.Token); return p.State == plan.Expired }, 5*time.Second, 5*time.Millisecond)
	status, body, _ := b.ask("POST", "/api/plans/"+string(expired.Token)+"/approve", "{}")
	require.Equal(t, 410, status)
	require.Equal(t, "PLAN_EXPIRED", body["code"])

	c := setup(t)
	done := c.add(repricing())
	_, _, err := c.store.Approve(done.Token, "x")
	require.NoError(t, err)
	run, err := c.store.Begin(done.Token, planEcho(done))
	require.NoError(t, err)
	approve := "/api/plans/" + string(done.Token) + "/approve"
	status, body, _ = c.ask("POST", approve, "{}")
	require.Equal(t, 409, status)
	require.Equal(t, "ALREADY_EXECUTING", body["code"])
	run.Unknown("no answer")
	status, body, _ = c.ask("POST", approve, "{}")
	require.Equal(t, 409, status)
	require.Equal(t, "OUTCOME_UNKNOWN", body["code"])
	c.store.Settle(done.Token, true, 240, time.Now())
	status, body, _ = c.ask("POST", approve, "{}")
	require.Equal(t, 409, status)
	require.Equal(t, "PLAN_USED", body["code"])

	old := c.add(archive())
	differs := archive()
	differs.RowsDigest = "another"
	c.add(differs)
	status, body, _ = c.ask("POST", "/api/plans/"+string(old.Token)+"/approve", `{"confirm":"9412"}`)
	require.Equal(t, 409, status)
	require.Equal(t, "PLAN_SUPERSEDED", body["code"])
}

// TestPlansThatEndedLongAgo: of old plans only the end is remembered; they still answer with their
// own code, and the page claims nothing else about them.
func TestPlansThatEndedLongAgo(t *testing.T) {
	t.Parallel()
	const all = 300 // the store keeps 200 whole
	b := setup(t)
	var tokens []plan.Token
	for i := range all {
		p := repricing()
		p.RowsDigest = fmt.Sprint("rows ", i) // each replaces the one before, but for the first two
		made := b.add(p)
		tokens = append(tokens, made.Token)
		switch i {
		case 0:
			_, _, err := b.store.Reject(made.Token, "Ana", "Not now.")
			require.NoError(t, err)
		case 1:
			_, _, err := b.store.Approve(made.Token, "Ana")
			require.NoError(t, err)
			run, err := b.store.Begin(made.Token, planEcho(made))
			require.NoError(t, err)
			run.Confirm(240, time.Now())
		}
	}
	require.Len(t, b.store.Recent(all), 200)
	for i, want := range map[int]struct{ code, head string }{
		0: {"PLAN_REJECTED", "Rejected: "}, 1: {"PLAN_USED", "Done: "}, 2: {"PLAN_SUPERSEDED", "Replaced: "},
		all - 2: {"PLAN_SUPERSEDED", "Replaced: "},
	} {
		path := "/api/plans/" + string(tokens[i])
		status, body, _ := b.ask("POST", path+"/approve", "{}")
		require.Equal(t, 409, status)
		require.Equal(t, want.code, body["code"])
		status, body, _ = b.ask("GET", path, "")
		require.Equal(t, 200, status)
		card := body["plan"].(map[string]any)
		text, err := json.Marshal(card["result"])
		require.NoError(t, err)
		require.Contains(t, string(text), want.head)
		if i > 2 {
			require.Contains(t, string(text), "public.products")
			continue
		}
		require.Contains(t, string(text), "only the end")
		require.Contains(t, string(text), "audit log in the database")
		require.Zero(t, card["previewed_at"])
		require.NotContains(t, card["render"].(map[string]any)["title"], "no row matches")
		require.LessOrEqual(t, len(body["history"].([]any)), 2)
	}
	status, body, _ := b.ask("POST", "/api/plans/"+string(tokens[0])+"/reject", `{"reason":"Other."}`)
	require.Equal(t, 200, status)
	require.Equal(t, true, body["already_rejected"])
	require.Equal(t, "Not now.", body["plan"].(map[string]any)["decision"].(map[string]any)["reason"])
}

// TestApproveNeedsTheTypedText: the server checks what the card asks for, whatever the page did.
func TestApproveNeedsTheTypedText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		preview     plan.Preview
		wrong, fine []string
	}{
		"rows": {archive(), []string{"", "9421", "9.41.2", "94,12", "9412 rows", "-9412", "9412.0", "public.orders", "９４１２"}, []string{"9412", "9,412", "9 412", "9.412", "9'412", " 9412 ", "9\u202f412"}},
		"drop": {dropColumn(), []string{"", "total", "Total_amount", "public.orders", "orders"}, []string{"total_amount", " total_amount "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, fine := range c.fine {
				b := setup(t)
				p := b.add(c.preview)
				path := "/api/plans/" + string(p.Token) + "/approve"
				status, body, _ := b.ask("POST", path, `{}`)
				require.Equal(t, 400, status)
				require.Equal(t, "CONFIRMATION_REQUIRED", body["code"])
				require.Contains(t, body["hint"], "send it as `confirm`")
				for _, w := range c.wrong {
					out, err := json.Marshal(map[string]string{"confirm": w})
					require.NoError(t, err)
					status, body, _ := b.ask("POST", path, string(out))
					require.Equal(t, 400, status, w)
					require.Equal(t, "CONFIRMATION_REQUIRED", body["code"], w)
				}
				got, _ := b.store.Get(p.Token)
				require.Equal(t, plan.AwaitingApproval, got.State)
				out, err := json.Marshal(map[string]string{"confirm": fine})
				require.NoError(t, err)
				status, body, _ = b.ask("POST", path, string(out))
				require.Equal(t, 200, status, fine)
				require.Equal(t, "approved", body["status"])
			}
		})
	}
}

// TestS08OneDecisionOutOfMany: many people press at once; one decision stands, and all hear of it.
func TestS08OneDecisionOutOfMany(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.add(repricing())
	type answer struct {
		status         int
		body           map[string]any
		approve, first bool
	}
	answers := make([]answer, 40)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			a := answer{approve: i%2 == 0}
			if a.approve {
				a.status, a.body, _ = b.ask("POST", "/api/plans/"+string(p.Token)+"/approve", fmt.Sprintf(`{"approvedBy":"p%d"}`, i))
				a.first = a.body["already_approved"] == false
			} else {
				a.status, a.body, _ = b.ask("POST", "/api/plans/"+string(p.Token)+"/reject", fmt.Sprintf(`{"rejectedBy":"p%d","reason":"r%d"}`, i, i))
				a.first = a.body["already_rejected"] == false
			}
			answers[i] = a
		})
	}
	wg.Wait()
	got, _ := b.store.Get(p.Token)
	require.Equal(t, plan.Rejected, got.State, "a rejection is final, whatever came first")
	approvals, rejections := 0, 0
	for _, a := range answers {
		if a.approve && a.status == 200 && a.first {
			approvals++
		}
		if !a.approve {
			require.Equal(t, 200, a.status)
			require.Equal(t, got.Decision.Actor, a.body["rejected_by"])
			if a.first {
				rejections++
			}
		}
	}
	require.LessOrEqual(t, approvals, 1)
	require.Equal(t, 1, rejections)
}

// probe is a prober that answers with what it holds.
type probe struct{ err error }

func (p probe) Recheck(context.Context, plan.Token) error { return p.err }

func TestRecheck(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) { o.Prober = probe{} })
	status, body, _ := b.ask("POST", "/api/plans/"+string(b.add(repricing()).Token)+"/recheck", "{}")
	require.Equal(t, 200, status)
	require.Equal(t, "unchanged", body["status"])
	c := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.Prober = probe{refusal.New(refusal.RowsetChanged, "The rows have changed.", "Preview again.")}
	})
	status, body, _ = c.ask("POST", "/api/plans/"+string(c.add(repricing()).Token)+"/recheck", "{}")
	require.Equal(t, 409, status)
	require.Equal(t, "ROWSET_CHANGED", body["code"])
}

// TestOneTimeCodes: a code gives the secret once, within its time, and guessing is slowed down.
func TestOneTimeCodes(t *testing.T) {
	t.Parallel()
	opened := make(chan string, 10)
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.OpenBrowser = func(u string) error { opened <- u; return nil }
	})
	out := func(r *http.Request) { r.Header.Del("Authorization") }
	for i := range 5 {
		status, body, _ := b.ask("POST", "/api/open", "{}", out)
		if i < 3 {
			require.Equal(t, 200, status)
			require.NotContains(t, fmt.Sprint(body), "code", "who asked gets nothing")
		} else {
			require.Equal(t, 429, status, "opening is rate-limited")
			require.Equal(t, "TOO_MANY_TRIES", body["code"])
		}
	}
	u, err := url.Parse(<-opened)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", u.Hostname())
	one := u.Query().Get("code")
	require.GreaterOrEqual(t, len(one), 22)
	require.NotContains(t, u.String(), b.token)
	status, body, _ := b.ask("POST", "/api/session", `{"code":"`+one+`"}`, out)
	require.Equal(t, 200, status)
	require.Equal(t, b.token, body["token"])
	status, body, _ = b.ask("POST", "/api/session", `{"code":"`+one+`"}`, out)
	require.Equal(t, 401, status, "a code works once")
	require.Equal(t, "UNAUTHORIZED", body["code"])
	last := 0
	for range 15 {
		last, body, _ = b.ask("POST", "/api/session", `{"code":"guess"}`, out)
	}
	require.Equal(t, 429, last)
	require.Equal(t, "TOO_MANY_TRIES", body["code"])
	u, _ = url.Parse(<-opened)
	status, _, _ = b.ask("POST", "/api/session", `{"code":"`+u.Query().Get("code")+`"}`, out)
	require.Equal(t, 200, status, "guessing locks nobody out")

	for _, bad := range []string{`{}`, `{"code":"a","challenge":"0123456789abcdef"}`, `{"challenge":"short"}`, `{"code":1}`} {
		status, body, _ = b.ask("POST", "/api/session", bad, out)
		require.Equal(t, 400, status, bad)
		require.Equal(t, "BAD_REQUEST", body["code"])
	}
}

func TestNoBrowserHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	status, body, _ := b.ask("POST", "/api/open", "{}")
	require.Equal(t, 503, status)
	require.Equal(t, "BROWSER_UNAVAILABLE", body["code"])
}

// TestProof: only the process that gave a page its key can answer its challenge.
func TestProof(t *testing.T) {
	t.Parallel()
	b, other := setup(t), setup(t)
	_, body, _ := b.ask("GET", "/api/plans", "")
	about := body["server"].(map[string]any)
	challenge := "0123456789abcdef0123"
	h := hmac.New(sha256.New, []byte(about["key"].(string)))
	fmt.Fprintf(h, "sw-postgres-mcp approval page\n%v\n%s", about["port"], challenge)
	want := hex.EncodeToString(h.Sum(nil))
	out := func(r *http.Request) { r.Header.Del("Authorization") }
	_, body, _ = b.ask("POST", "/api/session", `{"challenge":"`+challenge+`"}`, out)
	require.Equal(t, want, body["proof"])
	_, body, _ = other.ask("POST", "/api/session", `{"challenge":"`+challenge+`"}`, out)
	require.NotEqual(t, want, body["proof"])
}

// TestEventsArrive: a stream says hello, then what happens, as it happens.
func TestEventsArrive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	req, err := http.NewRequest("GET", b.page.URL()+"api/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+b.token)
	res, err := (&http.Client{Timeout: 20 * time.Second}).Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	mustBeSecure(t, res.Header)
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	next := func() (string, map[string]any) {
		event, data := "", map[string]any{}
		for lines.Scan() {
			switch l := lines.Text(); {
			case strings.HasPrefix(l, "event: "):
				event = l[7:]
			case strings.HasPrefix(l, "data: "):
				require.NoError(t, json.Unmarshal([]byte(l[6:]), &data))
			case l == "" && event != "":
				return event, data
			}
		}
		require.NoError(t, lines.Err())
		t.Fatal("the stream ended")
		return "", nil
	}
	event, _ := next()
	require.Equal(t, "hello", event)
	p := b.add(cascade())
	start := time.Now()
	event, data := next()
	require.Equal(t, "plan", event)
	require.Equal(t, "added", data["kind"])
	require.Equal(t, string(p.Token), data["plan"].(map[string]any)["plan_token"])
	_, _, err = b.store.Reject(p.Token, "Ana", "<b>no</b>")
	require.NoError(t, err)
	_, data = next()
	require.Equal(t, "rejected", data["kind"])
	require.Less(t, time.Since(start), 10*time.Second)
}

// TestOpensTheBrowserForTheFirstPlan: once, and only when no page listens.
func TestOpensTheBrowserForTheFirstPlan(t *testing.T) {
	t.Parallel()
	opened := make(chan string, 4)
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.OpenOnFirstPlan = true
		o.OpenBrowser = func(u string) error { opened <- u; return nil }
	})
	status, _, _ := b.ask("GET", "/api/plans", "") // Serve runs now
	require.Equal(t, 200, status)
	_, _, err := b.store.Create(repricing(), false)
	require.NoError(t, err)
	b.add(cascade())
	b.add(archive())
	require.Contains(t, <-opened, "?code=")
	select {
	case u := <-opened:
		t.Fatalf("opened twice: %s", u)
	case <-time.After(100 * time.Millisecond):
	}
}

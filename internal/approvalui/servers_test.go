package approvalui_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// fakeMachine is a machine with other servers and a name on it.
type fakeMachine struct {
	mu     sync.Mutex
	list   []approvalui.Other
	err    error
	asked  int
	opened []int
	name   string
}

func (f *fakeMachine) Others(context.Context) ([]approvalui.Other, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return append([]approvalui.Other(nil), f.list...), f.err
}

func (f *fakeMachine) OpenOther(_ context.Context, port int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if port == 7 {
		return errors.New("a path /run/user/1000/secret that stays inside")
	}
	f.opened = append(f.opened, port)
	return nil
}

func (f *fakeMachine) Name() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.name
}

func (f *fakeMachine) SetName(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	f.name = name
	return nil
}

func (f *fakeMachine) set(list ...approvalui.Other) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = list
}

func (f *fakeMachine) on(o *approvalui.Options, _ *plan.Options) { o.Others, o.Names = f, f }

func TestOtherServers(t *testing.T) {
	t.Parallel()
	m := &fakeMachine{list: []approvalui.Other{{Port: 4320, Waiting: 2, Database: "stock", Host: "db:5432", Caller: "cursor", CanOpen: true}}}
	b := setup(t, m.on)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, got, _ := b.ask("GET", "/api/servers", "")
			require.Equal(t, []any{map[string]any{"port": 4320., "waiting": 2., "database": "stock", "host": "db:5432", "caller": "cursor", "can_open": true}}, got["servers"])
		})
	}
	wg.Wait()
	m.mu.Lock()
	require.Less(t, m.asked, 50, "many pages ask, the servers are asked once a second")
	m.mu.Unlock()
	for body, want := range map[string]int{`{"port":"4320"}`: 200, `{"port":"7"}`: 503, `{"port":"0"}`: 400, `{"port":"65536"}`: 400, `{"port":"x"}`: 400, `{}`: 400, `{"port":4320}`: 400, `{"port":"4320","code":"x"}`: 400} {
		status, got, _ := b.ask("POST", "/api/servers/open", body)
		require.Equal(t, want, status, body)
		require.NotContains(t, fmt.Sprint(got), "/run/")
	}
	require.Equal(t, []int{4320}, m.opened)

	// Neither a machine that cannot be asked nor one that is not there is a fault of the page.
	broken := setup(t, (&fakeMachine{err: errors.New("no")}).on)
	status, got, _ := broken.ask("GET", "/api/servers", "")
	require.Equal(t, 200, status)
	require.Equal(t, []any{}, got["servers"])
	status, got, _ = broken.ask("POST", "/api/name", `{"name":"Ada"}`)
	require.Equal(t, 503, status)
	require.Equal(t, "NOT_REMEMBERED", got["code"])
	alone := setup(t)
	_, got, _ = alone.ask("GET", "/api/servers", "")
	require.Equal(t, []any{}, got["servers"])
	status, _, _ = alone.ask("POST", "/api/servers/open", `{"port":"1"}`)
	require.Equal(t, 404, status)
	status, _, _ = alone.ask("POST", "/api/name", `{"name":"Ada"}`)
	require.Equal(t, 503, status)
	require.Zero(t, alone.page.Waiting())
	alone.add(cascade())
	alone.add(repricing())
	require.Equal(t, 2, alone.page.Waiting())
}

func TestTheNameIsRemembered(t *testing.T) {
	t.Parallel()
	m := &fakeMachine{}
	b := setup(t, m.on)
	person := func() any {
		_, got, _ := b.ask("GET", "/api/plans", "")
		require.Equal(t, true, got["server"].(map[string]any)["can_remember"])
		return got["server"].(map[string]any)["person"]
	}
	require.Equal(t, "on-call", person())
	for _, bad := range []string{`{}`, `{"name":"a\nb"}`, `{"name":"\u001b[2J"}`, `{"name":"` + strings.Repeat("\u4e2d", 201) + `"}`, `{"name":1}`} {
		status, _, _ := b.ask("POST", "/api/name", bad)
		require.Equal(t, 400, status, bad)
	}
	require.Equal(t, "on-call", person())
	status, got, _ := b.ask("POST", "/api/name", `{"name":" Ada "}`)
	require.Equal(t, 200, status)
	require.Equal(t, "Ada", got["name"])
	require.Equal(t, "Ada", person())
	status, got, _ = b.ask("POST", "/api/name", `{"name":""}`)
	require.Equal(t, 200, status)
	require.Equal(t, "on-call", got["name"])
}

// OpenWhenAsked is rate-limited together with the page's own button, and says nothing but how it went.
func TestOpenWhenAsked(t *testing.T) {
	t.Parallel()
	var opened []string
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.OpenBrowser = func(u string) error { opened = append(opened, u); return nil }
	})
	require.True(t, b.page.CanOpen())
	require.NoError(t, b.page.OpenWhenAsked())
	status, _, _ := b.ask("POST", "/api/open", "{}")
	require.Equal(t, 200, status)
	require.NoError(t, b.page.OpenWhenAsked())
	err := b.page.OpenWhenAsked()
	require.EqualError(t, err, "Too many tries in a short time. Wait a minute, then try again.")
	require.Len(t, opened, 3)
	none := setup(t)
	require.False(t, none.page.CanOpen())
	err = none.page.OpenWhenAsked()
	require.EqualError(t, err, "The server cannot open a browser here. Use the link that the server printed when it started.")
	require.NotContains(t, err.Error(), none.token)
}

// TestBrowserOtherServers: the other servers are listed, what waits there is counted, and one of
// them is asked to open its page; the name is the machine's.
func TestBrowserOtherServers(t *testing.T) {
	ctx := browser(t)
	m := &fakeMachine{name: "Ada"}
	b := setup(t, m.on)
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelector('.me b')?.textContent === 'Ada'`)
	require.False(t, eval[bool](t, ctx, `document.getElementById('elsewhere').checkVisibility()`), "nothing is said where there is nothing")
	m.set(approvalui.Other{Port: 7, Database: "<b>stock</b>\u202e", Host: "db:5432", Caller: "cursor", CanOpen: true}, approvalui.Other{Port: 4321, Waiting: 3, Database: "shop", Host: "h", Caller: "c"})
	until(t, ctx, `document.querySelectorAll('#elsewhere li').length === 2`)
	require.Equal(t, "Elsewhere 3 waiting in your other servers", eval[string](t, ctx, `document.querySelector('a[href="#elsewhere"]').textContent`))
	require.Equal(t, "3 plans wait in your other servers", eval[string](t, ctx, `document.getElementById('live').textContent`))
	require.Contains(t, eval[string](t, ctx, `document.querySelector('#elsewhere li').textContent`), "Nothing waits in <b>stock</b>")
	require.NotContains(t, eval[string](t, ctx, `document.querySelector('#elsewhere li').textContent`), "\u202e")
	require.False(t, eval[bool](t, ctx, `document.querySelector('#elsewhere li:last-child button') !== null`), "what cannot open a browser has no button")
	q := b.add(repricing()) // one more count in the head
	until(t, ctx, `document.querySelector(`+quote(card(q))+`) !== null`)
	for _, width := range []int64{360, 1280} {
		look(t, ctx, width, "light")
		require.EqualValues(t, width, eval[int64](t, ctx, `document.documentElement.scrollWidth`), "something is cut at this width")
	}
	do(t, ctx, chromedp.Click("#elsewhere li button"))
	until(t, ctx, `document.querySelector('#elsewhere li [role=status]').textContent.startsWith('That server did not open its page.')`)
	m.set(approvalui.Other{Port: 4320, Waiting: 1, Database: "stock", Host: "db:5432", Caller: "cursor", CanOpen: true})
	until(t, ctx, `document.querySelectorAll('#elsewhere li').length === 1`)
	do(t, ctx, chromedp.Click(`a[href="#elsewhere"]`))
	until(t, ctx, `document.activeElement.id === 'elsewhere'`)
	do(t, ctx, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `document.querySelector('#elsewhere li [role=status]').textContent === 'It has opened its page in another tab.'`)
	m.set()
	until(t, ctx, `!document.getElementById('elsewhere').checkVisibility()`)

	do(t, ctx, chromedp.Click(".me .link"))
	until(t, ctx, `document.getElementById('nm')?.value === 'Ada'`)
	do(t, ctx, chromedp.SendKeys("#nm", " L."), chromedp.Click("dialog .btn-yes"))
	require.Eventually(t, func() bool { return m.Name() == "Ada L." }, 15*time.Second, 10*time.Millisecond)
	require.Equal(t, "{}", eval[string](t, ctx, `JSON.stringify({...sessionStorage, ...localStorage})`))
	do(t, ctx, chromedp.Reload())
	until(t, ctx, `document.getElementById('gate') !== null`) // a reload forgets the secret
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelector('.me b')?.textContent === 'Ada L.'`)
}

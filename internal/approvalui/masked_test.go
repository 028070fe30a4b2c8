package approvalui_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Values as a mask of each kind would show them to the agent: never on the page.
const (
	hashOfOne = "hash:5f0c1d9a7be0c2d4"
	partOfOne = "+***"
)

// veiled gives some columns of a row masks.
func veiled(r plan.Row, columns ...string) plan.Row {
	for i, f := range r {
		switch {
		case !slices.Contains(columns, f.Column):
		case string(f.Value) == "null":
			r[i].Masked = json.RawMessage("null")
		case f.Column == "email":
			r[i].Masked = raw(hashOfOne)
		default:
			r[i].Masked = raw(partOfOne)
		}
	}
	return r
}

// newAddresses gives customers other mail addresses, masked as the telephone numbers are; the city is not.
// Without phones it is what a picture has room for.
func newAddresses(phones ...any) plan.Preview {
	p := plan.Preview{
		Tool: "update_rows", CallerID: "claude-desktop", Target: "public.customers", AffectedRows: 118,
		Reason:      "These customers moved to the Berlin office and to its mail domain, as in the list of 3 June.",
		Payload:     plan.Payload{Statement: "UPDATE public.customers SET city = $2, email = (SELECT m.email FROM public.moves AS m WHERE m.customer_id = customers.id)\nWHERE id IN (SELECT customer_id FROM public.moves WHERE day = $1)", Params: []json.RawMessage{raw("2024-06-03"), raw("Berlin")}},
		BlastRadius: plan.BlastRadius{TotalRows: 118, Tables: []plan.Table{{Name: "public.customers", Updated: 118, Named: true, RowsEstimate: new(int64(50000))}}},
		SetColumns:  []string{"city", "email"},
		Why:         "You are asked because 118 rows is more than 100.", RowsDigest: "m1",
	}
	names := []string{"ada", "boris", "carla", "deniz", "emil", "frida", "grete"}
	for i, name := range names {
		before, after := row("city", "Potsdam", "email", name+"@old.example"), row("city", "Berlin", "email", name+"@new.example")
		if i < len(phones) {
			before, after = append(before, row("phone", phones[i])...), append(after, row("phone", "+49 30 5550100")...)
		}
		p.Changes = append(p.Changes, plan.Change{Key: row("id", 204+i*7), Before: veiled(before, "email", "phone"), After: veiled(after, "email", "phone")})
	}
	return p
}

// maskedKey deletes rows whose key is masked too.
func maskedKey() plan.Preview {
	p := cascade()
	p.SampleRows, p.RowsDigest = nil, "m2"
	for i := range 8 {
		p.SampleRows = append(p.SampleRows, veiled(row("email", fmt.Sprintf("t%d@load.example", i), "name", fmt.Sprintf("Load test %d", i), "balance", 10*i), "email", "balance"))
	}
	p.Payload.Statement += " AND email = $3"
	return p
}

// maskedImport adds rows; the agent is shown what was stored, masked.
func maskedImport() plan.Preview {
	p := importRows()
	p.SampleRows, p.RowsDigest = nil, "m3"
	for i := range 3 {
		p.SampleRows = append(p.SampleRows, veiled(row("sku", fmt.Sprintf("SP-%04d", i), "email", fmt.Sprintf("supplier%d@trade.example", i), "price", "39.00"), "email"))
	}
	return p
}

// maskedOnly is one changed key, masked, whose new value is not.
func maskedOnly() plan.Preview {
	p := repricing()
	p.RowsDigest = "m4"
	for i := range p.Changes {
		p.Changes[i].Key = veiled(row("email", fmt.Sprintf("buyer%d@shop.example", i)), "email")
	}
	return p
}

// marks is what the page says of columns: the texts of all heads, those with a mark, and the note below.
const marks = `((card) => {
  const all = [...card.querySelectorAll('.scroll')].slice(0, 1).flatMap((t) => [...t.querySelectorAll('th')]);
  const text = (e) => e.textContent.trim();
  return JSON.stringify({ heads: all.map(text), titles: [...new Set(all.flatMap((t) => [...t.querySelectorAll('.masked')].map((m) => m.title)))], note: text(card.querySelector('.unmasked') || document.createElement('p')) });
})(%s)`

type marked struct {
	Heads  []string `json:"heads"`
	Titles []string `json:"titles"`
	Note   string   `json:"note"`
}

// small lists what is easily lost of small things: the dot of the connection is seen in forced colours too, the
// ring of a focus covers no word beside it, and more samples are as wide as the ones they go on from.
const small = `(() => {
  const bad = [];
  const box = (e) => e.getBoundingClientRect();
  const paint = (s) => getComputedStyle(document.querySelector(s)).backgroundColor;
  if (document.querySelector('.dot') && (paint('.dot') === paint('.top') || paint('.dot') === 'rgba(0, 0, 0, 0)')) bad.push('no dot');
  const me = document.querySelector('.me');
  if (me && me.checkVisibility() && box(me.querySelector('.link')).left - box(me.querySelector('b')).right < 5) bad.push('the ring covers the name');
  for (const more of document.querySelectorAll('.more[open] > .scroll')) {
    if (Math.abs(box(more).width - box(more.closest('.sec').querySelector('.scroll')).width) > 1) bad.push('more samples are narrower: ' + more.textContent.slice(0, 40));
  }
  for (const e of document.querySelectorAll('.note-err:empty')) {
    if (box(e.nextElementSibling).top - box(e.previousElementSibling).bottom > 20) bad.push('a gap for no word');
  }
  return bad.join();
})()`

// TestMaskedColumnsAreMarked: what the agent sees masked the person sees as it is, with a mark in the head of
// the column and a sentence below the rows, on the card and on the plan's own page; a column of which the
// agent sees the values has none. axe finds nothing, nothing is cut or pale, in every scheme and width.
func TestMaskedColumnsAreMarked(t *testing.T) {
	source := axe(t)
	b := setup(t, with(diary()))
	ctx := b.browse()
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelector('.empty') !== null`)
	const mark = ", masked for the agent"
	cases := []struct {
		p    plan.Preview
		want marked
	}{
		{newAddresses("+49 30 1234567", nil, "+49 89 7654321", "+49 40 5556677", "+49 221 998877", "+49 711 443322", "+49 341 112233"), marked{[]string{"id", "city before", "becomes", "city after", "email before" + mark, "becomes", "email after" + mark, "phone before" + mark, "becomes", "phone after" + mark, "difference"}, nil, "You see the values of email and phone. The agent sees a mask in their place."}},
		{maskedKey(), marked{[]string{"email" + mark, "name", "balance" + mark, "rest"}, nil, "You see the values of email and balance. The agent sees a mask in their place."}},
		{maskedImport(), marked{[]string{"sku", "email" + mark, "price", "rest"}, nil, "You see the values of email. The agent sees a mask in their place."}},
		{maskedOnly(), marked{[]string{"email" + mark, "price before", "becomes", "price after", "difference"}, nil, "You see the values of email. The agent sees a mask in their place."}},
		{archive(), marked{Heads: []string{"id", "status before", "becomes", "status after"}}},
	}
	var made []plan.Plan
	for _, c := range cases {
		made = append(made, b.add(c.p))
	}
	until(t, ctx, fmt.Sprintf(`document.querySelectorAll('article.card').length === %d`, len(cases)))
	until(t, ctx, armed)
	said := func(where string, i int) {
		t.Helper()
		var got marked
		require.NoError(t, json.Unmarshal([]byte(eval[string](t, ctx, fmt.Sprintf(marks, `document.querySelector(`+quote(where)+`)`))), &got))
		want := cases[i].want
		want.Titles = []string{}
		if want.Note != "" {
			want.Titles = []string{"The agent sees a mask in place of these values"}
		}
		require.Equal(t, want, got, where)
	}
	for i, p := range made {
		said(card(p), i)
	}
	texts := func() string {
		text := eval[string](t, ctx, `document.documentElement.outerHTML`)
		require.NotContains(t, text, hashOfOne, "what the agent sees is not on the page")
		require.NotContains(t, text, partOfOne)
		return text
	}
	require.Contains(t, texts(), "ada@old.example")
	require.Contains(t, texts(), "t0@load.example")
	require.Regexp(t, `^What changesCounted by running it and undoing it, \d+\x{a0}s\x{a0}ago$`, eval[string](t, ctx, `document.querySelector('.blast caption').textContent`), "a number keeps its unit")

	at := func(name string) {
		t.Helper()
		if !eval[bool](t, ctx, `'axe' in window`) {
			eval[bool](t, ctx, source+`; 'axe' in window`)
		}
		for _, v := range []struct {
			tail, scheme string
			width        int64
		}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-forced", "forced", 1280}, {"-narrow", "light", 360}} {
			look(t, ctx, v.width, v.scheme)
			shoot(t, ctx, name+v.tail)
			require.Empty(t, eval[string](t, ctx, fits), name+v.tail)
			require.Empty(t, eval[string](t, ctx, pale), name+v.tail)
			require.Empty(t, eval[string](t, ctx, small), name+v.tail)
			if v.scheme == "forced" {
				continue // axe reads the colours that the page asked for, not those that the browser forces
			}
			found, err := chromedp.Run(ctx, chromedp.Evaluate[string](findings+"(false)", chromedp.EvalAwaitPromise))
			require.NoError(t, err)
			require.Empty(t, found, name+v.tail)
		}
		look(t, ctx, 1280, "light")
		eval[bool](t, ctx, largeText)
		shoot(t, ctx, name+"-large")
		require.Empty(t, eval[string](t, ctx, fits), name+" with large text")
		eval[bool](t, ctx, smallText)
	}
	at("masked")
	eval[bool](t, ctx, `document.querySelectorAll('details').forEach((x) => { x.open = !/^Show all [\d,]{3,}/.test(x.textContent); }) === undefined`)
	until(t, ctx, `[...document.querySelectorAll('details[open]')].every((x) => x.childElementCount > 1)`)
	require.EqualValues(t, 2*2, eval[int64](t, ctx, `document.querySelectorAll('`+card(made[0])+` .more .masked').length`), "more samples are marked as well")
	at("masked-unfolded")

	help := func(i int) string {
		t.Helper()
		until(t, ctx, armed)
		eval[bool](t, ctx, `document.querySelector(`+quote(no(made[i]))+`).click() === undefined`)
		until(t, ctx, `document.querySelector('dialog[open]') !== null`)
		return eval[string](t, ctx, `document.querySelector('#rj-n').textContent`)
	}
	require.Equal(t, "It is also kept in the audit log. No passwords, please.", help(4))
	do(t, ctx, chromedp.Click(`dialog .row .btn:first-child`))
	until(t, ctx, `document.querySelector('dialog') === null`)
	require.Equal(t, "It is also kept in the audit log. No passwords, please. Leave out what the agent sees masked.", help(0))
	at("masked-reject")
	do(t, ctx, chromedp.Click(`dialog .row .btn:first-child`))
	until(t, ctx, `document.querySelector('dialog') === null`)

	for i, p := range made {
		eval[bool](t, ctx, `(location.hash = '#plan/`+string(p.Token)+`') !== ''`)
		until(t, ctx, `document.querySelector('.chain .meta')?.textContent.includes(`+quote(string(p.Token[:4]))+`) === true`)
		said(".chain", i)
		texts()
		if i < 2 {
			at("masked-plan-" + fmt.Sprint(i))
		}
	}
	// Behind the end no values are kept, and the audit view never had any.
	_, _, err := b.store.Reject(made[0].Token, "on-call", "Not now.")
	require.NoError(t, err)
	eval[bool](t, ctx, `(location.hash = '#plan/`+string(made[0].Token)+`') !== ''`)
	until(t, ctx, `document.querySelector('#main').textContent.includes('Rejected') && document.querySelector('.chain .scroll') === null`)
	require.NotContains(t, eval[string](t, ctx, `document.querySelector('.chain').parentElement.innerHTML`), "@old.example")
}

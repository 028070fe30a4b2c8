package approvalui_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// axe is the source of axe-core, of the pinned version. `make setup-axe` fetches it; not to have it is a
// failure.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("SW_TEST_AXE")
	if path == "" {
		cmd := exec.Command("../../scripts/setup-axe.sh")
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		require.NoError(t, err, "axe-core is needed: run `make setup-axe`, or set SW_TEST_AXE to a copy of axe.min.js\n%s", said.String())
		path = strings.TrimSpace(string(out))
	}
	source, err := os.ReadFile(filepath.Clean(path))
	require.NoError(t, err)
	return string(source)
}

// findings runs axe over the page: every rule of WCAG 2.2 A and AA and the best practices. What axe can
// not decide by itself counts as a finding too, but for contrast behind the two things that it cannot
// look through: they are named here.
// In the dark only the colours are other ones.
const findings = `(async (dark) => {
  const all = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const r = await axe.run(document, { runOnly: dark ? { type: 'rule', values: ['color-contrast'] } : all, resultTypes: ['violations', 'incomplete'], preload: false, iframes: false });
  const say = (kind) => (v) => v.nodes.map((n) => kind + ' ' + v.id + ': ' + n.target.join(' ') + ': ' + (n.any[0] || n.all[0] || n.none[0] || { message: '' }).message);
  const known = (n) => n.any.some((a) => a.id === 'color-contrast' && ['pseudoContent', 'shortTextContent', 'bgOverlap', 'elmPartiallyObscured', 'elmPartiallyObscuring', 'nonBmp'].includes(a.data && a.data.messageKey));
  const open = r.incomplete.map((v) => ({ ...v, nodes: v.nodes.filter((n) => !known(n)) }));
  window.axeCounts = { passes: r.passes ? r.passes.length : 0, incomplete: r.incomplete.reduce((n, v) => n + v.nodes.length, 0) };
  return [...r.violations.flatMap(say('violation')), ...open.flatMap(say('undecided'))].join('\n');
})`

// TestAxeFindsNothing runs axe-core in the real browser on every state of the page, light, dark and narrow:
// no finding, contrast of at least 4.5 included.
func TestAxeFindsNothing(t *testing.T) {
	source := axe(t)
	b := gallery(t)
	ctx := b.browse()
	watch(t, ctx, b)
	var all []string
	states, undecided := 0, int64(0)
	walk(t, b, func(name string) {
		if !eval[bool](t, ctx, `'axe' in window`) {
			eval[bool](t, ctx, source+`; 'axe' in window`)
		}
		for _, at := range []struct {
			scheme string
			width  int64
		}{{"light", 1280}, {"dark", 1280}, {"light", 360}} {
			look(t, ctx, at.width, at.scheme)
			states++
			found, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf("%s(%t)", findings, at.scheme == "dark"), chromedp.EvalAwaitPromise))
			require.NoError(t, err)
			if found != "" {
				all = append(all, fmt.Sprintf("%s, %s, %d:\n%s", name, at.scheme, at.width, found))
			}
			undecided += eval[int64](t, ctx, `window.axeCounts.incomplete`)
		}
		look(t, ctx, 1280, "light")
	})
	t.Logf("axe-core looked at %d views; %d nodes it could not decide (contrast below something else)", states, undecided)
	require.Empty(t, strings.Join(all, "\n\n"))
}

package approvalui_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser starts a real Chromium with a profile of its own. No browser is a failure:
// `make setup-browser` installs one.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("SW_TEST_BROWSER")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path != "" {
			break
		}
		path, _ = exec.LookPath(name)
	}
	require.NotEmpty(t, path, "no Chromium found: run `make setup-browser`, or set SW_TEST_BROWSER")
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	actx, c1 := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(c1)
	ctx, c2 := chromedp.NewContext(actx)
	t.Cleanup(c2)
	require.NoError(t, chromedp.Do(ctx))
	ctx, c3 := context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(c3)
	return ctx
}

// browse starts a browser for this page.
func (b *bundle) browse() context.Context {
	b.t.Helper()
	b.ctx = browser(b.t.(*testing.T))
	return b.ctx
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

func eval[T any](t *testing.T, ctx context.Context, js string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	require.NoError(t, err, js)
	return v
}

// look sets the width and the colour scheme: light, dark, or forced for the system's own few colours.
func look(t *testing.T, ctx context.Context, width int64, scheme string) {
	t.Helper()
	do(t, ctx, chromedp.EmulateViewport(width, 800), func(ctx context.Context, tg *chromedp.Target) (chromedp.Void, error) {
		forced := "none"
		if scheme == "forced" {
			forced, scheme = "active", "dark"
		}
		_, err := cdp.Call(ctx, tg, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "forced-colors", Value: forced},
			{Name: "prefers-reduced-motion", Value: "reduce"}, // a colour on its way to another one is neither
		}})
		return chromedp.Void{}, err
	})
	// A change that was on its way before goes on as it began, whatever is preferred now.
	until(t, ctx, `document.getAnimations().length === 0`)
}

// shoot writes a picture of the whole page, or of the window with its dialog, where SW_SCREENSHOTS names a directory.
func shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("SW_SCREENSHOTS")
	if dir == "" {
		return
	}
	take := chromedp.FullScreenshot(100)
	if eval[bool](t, ctx, `document.querySelector('dialog[open]') !== null`) {
		take = chromedp.CaptureScreenshot() // a dialog has its place in the window, not on the page
	}
	png, err := chromedp.Run(ctx, take)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}

// until waits for a condition in the page.
func until(t *testing.T, ctx context.Context, js string) {
	t.Helper()
	require.Eventually(t, func() bool {
		v, err := chromedp.Run(ctx, chromedp.Evaluate[bool](js))
		return err == nil && v
	}, 15*time.Second, 50*time.Millisecond, js)
}

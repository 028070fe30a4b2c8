package ask_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/ask"
)

// Whatever would not be seen is seen, and what is seen stays as it is.
func TestInert(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"", "DELETE FROM app.t WHERE name = 'Ünïcödé 日本語 א'", "a\u00a0b", "1 — 2 …", "<b>*x*</b>", "é", "👍"} {
		require.Equal(t, plain, ask.Inert(plain))
	}
	for _, r := range "\x00\a\b\t\n\v\f\r\x1b\x7f\u0085\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\u2800\u3164\ue000\ufe0f\ufeff\uffa0\ufffd\U000e0041\U000e0100\U0010ffff" {
		got := ask.Inert("a" + string(r) + "b")
		require.True(t, strings.HasPrefix(got, "a⟨U+"), "%U: %q", r, got)
		require.NotContains(t, got, string(r), "%U", r)
	}
	require.Equal(t, "a⟨U+FFFD⟩b", ask.Inert("a\xffb"))
	require.Equal(t, "short", ask.Clip("short", 5))
	long := ask.Clip(strings.Repeat("ä", 1000)+"end", 100)
	require.Less(t, utf8.RuneCountInString(long), 150)
	require.True(t, strings.HasSuffix(long, "äend"))
	require.Contains(t, long, "(903 characters are left out here)")
}

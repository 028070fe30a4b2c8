package pinhash_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
)

func TestNewAndMatches(t *testing.T) {
	t.Parallel()
	const pin = "corr3ct-h\u00f6rse"
	line, err := pinhash.New(pin)
	require.NoError(t, err)
	require.Regexp(t, `^\$argon2id\$v=19\$m=65536,t=3,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`, line)
	require.NotContains(t, line, pin)
	h, err := pinhash.Parse(line)
	require.NoError(t, err)
	require.True(t, h.Matches(pin))
	for _, wrong := range []string{"", "corr3ct-horse", pin + " ", " " + pin, pin[:len(pin)-1], strings.ToUpper(pin), line} {
		require.False(t, h.Matches(wrong), wrong)
	}
	other, err := pinhash.New(pin)
	require.NoError(t, err)
	require.NotEqual(t, line, other, "each line has a salt of its own")
	require.False(t, pinhash.Hash{}.Matches(""))
}

// A line that was made once and is kept: a change of the notation or of the cost of new lines must
// not lock people out.
func TestAKeptLineStillMatches(t *testing.T) {
	t.Parallel()
	h, err := pinhash.Parse("$argon2id$v=19$m=8192,t=1,p=1$ieQ9MVIGdETf7V6+Yaxeng$1oXbf82rDNrEpAH3TP2L9yHOyvjFg2z0VRT3LawNCsM")
	require.NoError(t, err)
	require.True(t, h.Matches("123457"))
	require.False(t, h.Matches("123456"))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"123456", "a b c d", "\u4e2d\u6587\u5bc6\u78bc\u5f88\u957f", strings.Repeat("ab", 50)} {
		require.NoError(t, pinhash.Check(good), good)
	}
	for bad, why := range map[string]string{
		"": "6 to 100", "12345": "6 to 100", strings.Repeat("ab", 51): "6 to 100", "000000": "repeated", " 123456": "space", "123456\t": "space", "123\x00456": "be seen",
		"123\u202e456": "be seen", "\xff123456": "UTF-8",
	} {
		require.ErrorContains(t, pinhash.Check(bad), why, "%q", bad)
		_, err := pinhash.New(bad)
		require.Error(t, err)
		if len(bad) > 4 {
			require.NotContains(t, err.Error(), bad)
		}
	}
}

// What is no line is refused, and never repeated.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	salt, sum := "c2FsdHNhbHQ", "c3Vtc3Vtc3Vtc3Vtc3Vtc3Vt"
	good := "$argon2id$v=19$m=8192,t=1,p=1$" + salt + "$" + sum
	_, err := pinhash.Parse(good)
	require.NoError(t, err)
	for _, bad := range []string{
		"", " ", "123456", "$", "$$$$$", " " + good, good + " ", good + "$", good[1:], "x" + good,
		strings.Replace(good, "argon2id", "argon2i", 1), strings.Replace(good, "v=19", "v=16", 1), strings.Replace(good, "$v=19", "", 1),
		strings.Replace(good, "m=8192", "m=8191", 1), strings.Replace(good, "m=8192", "m=4294967295", 1), strings.Replace(good, "m=8192", "m=262145", 1), strings.Replace(good, "m=8192", "m=08192", 1),
		strings.Replace(good, "m=8192", "m=-1", 1), strings.Replace(good, "m=8192", "m=99999999999999999999", 1), strings.Replace(good, "t=1", "t=0", 1), strings.Replace(good, "t=1", "t=11", 1),
		strings.Replace(good, "p=1", "p=0", 1), strings.Replace(good, "p=1", "p=17", 1), strings.Replace(good, "p=1", "p=257", 1), strings.Replace(good, ",p=1", "", 1), strings.Replace(good, "p=1", "p=1,q=1", 1),
		strings.Replace(good, salt, "", 1), strings.Replace(good, salt, "YQ", 1), strings.Replace(good, salt, salt+"=", 1), strings.Replace(good, salt, "****", 1), strings.Replace(good, salt, strings.Repeat("YWFh", 22), 1),
		strings.Replace(good, sum, "", 1), strings.Replace(good, sum, "YWFhYQ", 1), strings.Replace(good, sum, strings.Repeat("YWFh", 22), 1),
		"$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", strings.Repeat("$", 1<<16),
	} {
		h, err := pinhash.Parse(bad)
		require.Error(t, err, "%.80q", bad)
		require.NotContains(t, err.Error(), salt)
		require.NotContains(t, err.Error(), sum)
		require.False(t, h.Matches(""), "%.80q", bad)
	}
}

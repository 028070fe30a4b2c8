package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/config"
	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
)

// A channel on which a client may answer for the person is never in force without a word.
func TestChannelIsWarnedOf(t *testing.T) {
	t.Parallel()
	pin, err := pinhash.New("a long enough one")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		sections, env string
		want          []string
		asks          bool
	}{
		"the default":                {"", "", nil, false},
		"page":                       {`, "approval": {"channel": "page", "pageOnlyAboveRows": 5}`, "", nil, false},
		"both":                       {`, "approval": {"channel": "both", "pageOnlyAboveRows": 5}`, "", []string{"approval.channel is both", "answer its own question", "more than 5 rows"}, true},
		"elicitation":                {`, "approval": {"channel": "elicitation"}`, "", []string{"approval.channel is elicitation", "more than 1000 rows"}, true},
		"by variable":                {"", "SW_APPROVAL_CHANNEL=elicitation", []string{"approval.channel is elicitation"}, true},
		"elicitation without a page": {`, "approval": {"channel": "elicitation"}, "approvalServer": {"enabled": false}`, "", []string{"not asked through the client is refused (APPROVAL_UNAVAILABLE)", "answer its own question"}, true},
		"with a PIN":                 {`, "approval": {"channel": "both"}, "approvalServer": {"pinHash": "` + pin + `"}`, "", []string{"every decision is on the page"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, notes, err := setup(t, `{`+urls+c.sections+`}`, c.env).load()
			require.NoError(t, err)
			require.Equal(t, c.asks, cfg.AsksClient())
			all := strings.Join(notes.Warnings, "\n")
			for _, w := range c.want {
				require.Contains(t, all, w)
			}
			if c.want == nil {
				require.NotContains(t, all, "approval.channel")
			}
		})
	}
	require.Contains(t, config.Config{Approval: config.Approval{Channel: "both", PageOnlyAboveRows: 7}}.String(), "both")
}

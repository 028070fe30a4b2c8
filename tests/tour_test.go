package tests

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/tour.md anew from a run of the demo")

// What differs from run to run. Everything else in the tour must be the same.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "http://127.0.0.1:PORT"},
	{regexp.MustCompile(`"plan_token": ?"[^"]+"`), `"plan_token": "TOKEN"`},
	{regexp.MustCompile(`"fingerprint": ?"[^"]+"`), `"fingerprint": "FINGERPRINT"`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`"(duration_ms|held_ms)": ?[0-9.]+`), `"$1": 0`},
	{regexp.MustCompile(`(ran in|took) [0-9.,]+ ms`), "$1 0 ms"},
	{regexp.MustCompile(`"(cost|Startup Cost|Total Cost|Plan Rows|Plan Width|rows|rowCountEstimate|size_bytes)": ?[0-9.]+`), `"$1": 0`},
	{regexp.MustCompile(`(?m)^ *"Disabled": false,\n`), ""}, // Postgres 18 says so of each node of a plan
}

func normalised(s string) string {
	for _, v := range volatile {
		s = v.pattern.ReplaceAllString(s, v.with)
	}
	return s
}

// docs/tour.md is what the demo prints, not what somebody wrote. The test plays the whole tour on
// its own throw-away Postgres; go test ./tests -run TestTourIsTrue -update writes the file anew.
func TestTourIsTrue(t *testing.T) {
	t.Parallel()
	const file = "../docs/tour.md"
	transcript := filepath.Join(t.TempDir(), "tour.md")
	r := runToEnd(t, nil, options{noConfig: true, args: []string{"demo", "--auto", "--transcript", transcript}})
	require.Zero(t, r.code, "%s", r.stderr)
	raw, err := os.ReadFile(transcript)
	require.NoError(t, err)
	require.Equal(t, string(raw), r.stdout, "what is printed and the transcript are the same")
	if *update {
		require.NoError(t, os.WriteFile(file, raw, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "make it: go test ./tests -run TestTourIsTrue -update")
	require.Equal(t, normalised(string(want)), normalised(string(raw)), "docs/tour.md is not what the demo prints; -update writes it anew")
	for _, must := range []string{"HARD_MAX_ROWS_EXCEEDED", "PLAN_REJECTED", `"status": "executed"`, "awaiting_approval", `"affected_rows": 8`} {
		require.Contains(t, string(raw), must)
	}
	require.NotContains(t, strings.ToLower(string(raw)), "token=", "the page's secret is in the transcript")
}

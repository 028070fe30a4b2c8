package writecore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSourcePreviewHoldsNoCommit: only commit.go sends COMMIT (S01, S02). A rule the compiler cannot hold.
func TestSourcePreviewHoldsNoCommit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	commits := regexp.MustCompile(`\bcommit\b`)
	var senders []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		require.NoError(t, err)
		code := regexp.MustCompile(`(?m)//.*$|"(?:[^"\\\n]|\\.)*"`).ReplaceAllString(string(src), "")
		if f != "build.go" && commits.MatchString(code) {
			senders = append(senders, f)
		}
		if f != "build.go" {
			require.NotContains(t, string(src), `"COMMIT"`+")", f)
		}
	}
	require.Equal(t, []string{"commit.go"}, senders)
}

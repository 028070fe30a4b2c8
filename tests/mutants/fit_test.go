package mutants

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFaultsFit: each fault still has its line, and its catcher, in the code of today. That each is caught
// takes most of an hour and is TestMutants (build tag mutants).
func TestFaultsFit(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		code, err := os.ReadFile(filepath.Join("..", "..", f.file))
		require.NoError(t, err)
		if n := strings.Count(string(code), f.old); n != 1 {
			t.Errorf("%s %s: its text stands in %s %d times, not once:\n%s", f.property, f.what, f.file, n, f.old)
		}
		require.NotEqual(t, f.old, f.new, f.what)
		files, err := filepath.Glob(filepath.Join("..", "..", f.pkg, "*_test.go"))
		require.NoError(t, err)
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			found = found || bytes.Contains(text, []byte("func "+f.catcher+"("))
		}
		require.True(t, found, "%s %s: %s has no test %s", f.property, f.what, f.pkg, f.catcher)
	}
}

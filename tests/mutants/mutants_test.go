//go:build mutants

package mutants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMutants runs each fault against its catcher, after all catchers passed on the code as it is.
// SW_MUTANTS picks those whose property or description matches.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	pick, err := regexp.Compile(os.Getenv("SW_MUTANTS"))
	require.NoError(t, err)
	var chosen []fault
	for _, f := range faults {
		if pick.MatchString(f.property + " " + f.what) {
			chosen = append(chosen, f)
		}
	}
	require.NotEmpty(t, chosen)
	byPackage := map[string][]string{}
	for _, f := range chosen {
		if !slices.Contains(byPackage[f.pkg], f.catcher) {
			byPackage[f.pkg] = append(byPackage[f.pkg], f.catcher)
		}
	}
	for pkg, names := range byPackage {
		out, err := goTest(root, "", pkg, strings.Join(names, "|"))
		require.NoError(t, err, "the tests of %s fail on the code as it is:\n%s", pkg, out)
		for _, name := range names {
			require.True(t, bytes.Contains(out, []byte("--- PASS: "+name)), "%s has no test %s", pkg, name)
		}
	}
	var lines []string
	survivors := 0
	for _, f := range chosen {
		began := time.Now()
		verdict := f.run(t, root)
		if verdict != "caught" {
			survivors++
		}
		lines = append(lines, fmt.Sprintf("%-9s %-5s %-62s %s (%s, %.0f s)", verdict, f.property, f.what, f.catcher, f.pkg, time.Since(began).Seconds()))
		t.Log(lines[len(lines)-1])
	}
	t.Logf("\n%s\n%d faults, %d caught", strings.Join(lines, "\n"), len(chosen), len(chosen)-survivors)
	require.Zero(t, survivors, "some faults were not caught by the test that is named for them")
}

// run gives "caught", "SURVIVED" or "NO BUILD".
func (f fault) run(t *testing.T, root string) string {
	t.Helper()
	path := filepath.Join(root, f.file)
	code, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(code), f.old), "%s: the fault %q needs its text once:\n%s", f.file, f.what, f.old)
	dir := t.TempDir()
	broken := filepath.Join(dir, filepath.Base(f.file))
	require.NoError(t, os.WriteFile(broken, []byte(strings.Replace(string(code), f.old, f.new, 1)), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: broken}})
	require.NoError(t, err)
	overlayPath := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayPath, overlay, 0o600))
	if out, err := command(root, overlayPath, "build", "-race", "./cmd/...", "./internal/...", "./docker/...").CombinedOutput(); err != nil {
		t.Logf("%s: %s\n%s", f.file, f.what, out)
		return "NO BUILD"
	}
	out, err := goTest(root, overlayPath, f.pkg, f.catcher)
	switch {
	case err == nil:
		return "SURVIVED"
	case !bytes.Contains(out, []byte("--- FAIL: "+f.catcher)):
		t.Logf("%s: %s: %s did not fail by itself:\n%s", f.file, f.what, f.catcher, out)
		return "SURVIVED"
	}
	return "caught"
}

func goTest(root, overlay, pkg, names string) ([]byte, error) {
	return command(root, overlay, "test", "-race", "-v", "-count=1", "-timeout=8m", "-run", "^("+names+")$", pkg).CombinedOutput()
}

// command is a go command in which the overlay also reaches the builds that a test starts.
func command(root, overlay string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = os.Environ()
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS=-overlay="+overlay)
	}
	return cmd
}

//go:build faults && linux

package tests

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keepalives counts the connections of a process to a port and requires that each has a keepalive timer (kind 2
// in /proc/net/tcp, proc(5)).
func keepalives(t testing.TB, pid, port int) int {
	t.Helper()
	mine := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
			mine[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	f, err := os.Open("/proc/net/tcp")
	require.NoError(t, err)
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 10 || !mine[w[9]] || !strings.HasSuffix(w[2], fmt.Sprintf(":%04X", port)) {
			continue
		}
		n++
		require.Equal(t, "02", w[5][:2], "no keepalive timer: %s", lines.Text())
	}
	return n
}

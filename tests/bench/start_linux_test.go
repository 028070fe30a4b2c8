//go:build bench

package bench_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// started is one run of the built program, from before its start until it had been idle for a moment.
type started struct {
	first, list time.Duration // to the answer to initialize, and to the one to tools/list
	idle        int           // kB resident, when it has settled
	most        int           // kB resident at most
}

// TestBenchStart: the program as it is shipped (not the race build), from exec to the first answer to
// tools/list, and what it holds when idle; with a database that is there, one that is not, and after work.
// It must be below 50 ms and 40 MB.
func TestBenchStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sw-postgres-mcp")
	build := exec.Command("go", "build", "-o", path, "./cmd/sw-postgres-mcp")
	build.Dir = "../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	db := pgtemp.New(t, pgtemp.WithDemo())
	config := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"approvalServer":{"port":0,"openBrowser":"never"},"allowlist":{"write":{"schemas":["public"]}}}`), 0o600))
	here := []string{"DATABASE_URL_READONLY=" + db.Readonly, "DATABASE_URL_WRITER=" + db.Writer}
	nowhere := []string{"DATABASE_URL_READONLY=postgres://readonly@127.0.0.1:1/x", "DATABASE_URL_WRITER=postgres://writer@127.0.0.1:1/x"}
	for _, c := range []struct {
		name string
		env  []string
		work []string // calls before it is idle
	}{
		{"with a database", here, nil},
		{"the database is down", nowhere, nil},
		{"with a database, after work", here, []string{
			`{"name":"describe_schema","arguments":{}}`,
			`{"name":"query","arguments":{"statement":"SELECT * FROM public.customers LIMIT 1000","reason":"t"}}`,
			`{"name":"delete_rows","arguments":{"table":"public.customers","where":"id = 1","reason":"t"}}`,
		}},
	} {
		var all []started
		for range rounds() {
			all = append(all, startOnce(t, path, append(c.env, "SW_POSTGRES_CONFIG="+config, "XDG_RUNTIME_DIR="+t.TempDir(), "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir()), c.work))
		}
		listed := durations(all, func(s started) time.Duration { return s.list })
		hello := durations(all, func(s started) time.Duration { return s.first })
		slices.SortFunc(all, func(a, b started) int { return a.idle - b.idle })
		idle := all[len(all)/2]
		fmt.Printf("start %-28s initialize %5.1f ms, tools/list %5.1f ms (median of %d; slowest %.1f ms), idle %.1f MB, peak %.1f MB\n",
			c.name+":", ms(hello[len(hello)/2]), ms(listed[len(listed)/2]), len(listed), ms(listed[len(listed)-1]), float64(idle.idle)/1024, float64(idle.most)/1024)
		require.Less(t, ms(listed[len(listed)/2]), 50.0, "start to the first answer to tools/list, in ms")
		require.Less(t, idle.idle, 40<<10, "idle memory, in kB")
	}
}

func durations(all []started, of func(started) time.Duration) []time.Duration {
	out := make([]time.Duration, len(all))
	for i, s := range all {
		out[i] = of(s)
	}
	slices.Sort(out)
	return out
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func startOnce(t *testing.T, path string, env, work []string) (s started) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = io.Discard
	lines := bufio.NewReaderSize(stdout, 1<<20)
	answer := func() string {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		return line
	}
	from := time.Now()
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
	require.NoError(t, err)
	require.Contains(t, answer(), "protocolVersion")
	s.first = time.Since(from)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
	require.NoError(t, err)
	require.Contains(t, answer(), "run_migration")
	s.list = time.Since(from)
	for i, call := range work {
		_, err = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`+"\n", 10+i, call)
		require.NoError(t, err)
		require.NotContains(t, answer(), `"isError":true`)
	}
	time.Sleep(300 * time.Millisecond) // idle is what the figure is about
	s.idle, s.most = memory(t, cmd.Process.Pid)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	return s
}

// memory reads what is resident now and was at most, in kB (proc(5), status).
func memory(t *testing.T, pid int) (now, most int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.Atoi(fields[1])
		switch fields[0] {
		case "VmRSS:":
			now = n
		case "VmHWM:":
			most = n
		}
	}
	return now, most
}

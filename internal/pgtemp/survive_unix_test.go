//go:build unix

package pgtemp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// childInfo is what the child process tells about its cluster.
type childInfo struct {
	Port, Postmaster int
	Data             string
}

const childEnv = "SW_PGTEMP_TEST_CHILD"

// TestChildProcess is not a test of its own: it is what the tests below run in a process that is
// going to die. Run alone it only sees that the variable is not set.
func TestChildProcess(t *testing.T) {
	mode := os.Getenv(childEnv)
	if mode == "" {
		return
	}
	db := pgtemp.New(t)
	row := db.Query(t, "select current_setting('data_directory'), split_part(pg_read_file('postmaster.pid'), E'\\n', 1)")[0]
	pid, err := strconv.Atoi(row[1])
	require.NoError(t, err)
	line, err := json.Marshal(childInfo{Port: db.Cluster.Port(), Postmaster: pid, Data: row[0]})
	require.NoError(t, err)
	fmt.Printf("\nCHILD %s\n", line)
	if mode == "hang" {
		select {}
	}
}

func startChild(t *testing.T, mode string) (*exec.Cmd, childInfo) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildProcess$", "-test.count=1")
	// The child's cluster is its own, whatever this run takes its databases from.
	cmd.Env = append(os.Environ(), childEnv+"="+mode, "SW_TEST_POSTGRES_URL=", "SW_TEST_POSTGRES_DOCKER=")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var info childInfo
	scan := bufio.NewScanner(out)
	for info.Port == 0 && scan.Scan() {
		var text string
		if n, _ := fmt.Sscanf(scan.Text(), "CHILD %s", &text); n == 1 {
			require.NoError(t, json.Unmarshal([]byte(text), &info))
		}
	}
	require.NotZero(t, info.Port, "the child told nothing")
	// A Postgres that had inherited this pipe would keep it open, and `go test` waiting.
	t.Cleanup(func() {
		done := make(chan struct{})
		go func() {
			for scan.Scan() { // to the end of file
			}
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Error("somebody still holds the child's stdout")
		}
	})
	return cmd, info
}

func requireNothingLeft(t *testing.T, info childInfo) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(info.Port)))
		if err == nil {
			_ = conn.Close()
			return false
		}
		_, err = os.Stat(filepath.Dir(info.Data))
		return os.IsNotExist(err)
	}, 15*time.Second, 20*time.Millisecond, "server or directory %s is still there", info.Data)
	// Whoever adopts orphans may take a moment to collect the process.
	require.Eventually(t, func() bool {
		out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(info.Postmaster)).Output()
		return len(out) == 0 || out[0] == 'Z'
	}, 15*time.Second, 20*time.Millisecond)
}

func TestNothingLeftAfterKill9(t *testing.T) {
	t.Parallel()
	cmd, info := startChild(t, "hang")
	require.DirExists(t, info.Data)
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait() // "signal: killed"
	requireNothingLeft(t, info)
}

func TestNothingLeftAfterTheProcessEnds(t *testing.T) {
	t.Parallel()
	cmd, info := startChild(t, "end")
	require.NoError(t, cmd.Wait())
	requireNothingLeft(t, info)
}

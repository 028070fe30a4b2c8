//go:build pooler && unix

package tests

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// bouncer is a real PgBouncer in front of a database, with two connections to it per role.
type bouncer struct {
	db   *pgtemp.DB
	port int
	log  string
}

// findBouncer is what scripts/setup-pgbouncer.sh finds.
func findBouncer(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("SW_TEST_PGBOUNCER"); path != "" {
		return path
	}
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no PgBouncer; `make setup-pgbouncer` installs it")
	return ""
}

// newBouncer starts one. It is stopped when the test ends, before the database is looked at for leftovers.
func newBouncer(t testing.TB, db *pgtemp.DB, mode string) *bouncer {
	t.Helper()
	dir, err := os.MkdirTemp("", "sw-pooler-") //nolint:usetesting // root's t.TempDir is closed to the user it runs as
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server, err := url.Parse(db.Super)
	require.NoError(t, err)

	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &bouncer{db: db, port: free.Addr().(*net.TCPAddr).Port, log: filepath.Join(dir, "log")}
	require.NoError(t, free.Close())

	var users strings.Builder
	for _, raw := range []string{db.Readonly, db.Writer} {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		password, _ := u.User.Password()
		fmt.Fprintf(&users, "%q %q\n", u.User.Username(), password)
	}
	config := fmt.Sprintf(`[databases]
%[1]s = host=127.0.0.1 port=%[2]s dbname=%[1]s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[3]d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %[4]s/users
pool_mode = %[5]s
default_pool_size = 2
logfile = %[4]s/log
pidfile = %[4]s/pid
`, db.Name, server.Port(), b.port, dir, mode)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "users"), []byte(users.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ini"), []byte(config), 0o600))

	cmd := exec.Command(findBouncer(t), "-q", filepath.Join(dir, "ini"))
	if os.Geteuid() == 0 { // which it refuses
		u, err := user.Lookup("postgres")
		require.NoError(t, err)
		uid, err := strconv.Atoi(u.Uid)
		require.NoError(t, err)
		gid, err := strconv.Atoi(u.Gid)
		require.NoError(t, err)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		for _, name := range []string{"", "users", "ini"} {
			require.NoError(t, os.Chown(filepath.Join(dir, name), uid, gid))
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in its log
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Error("PgBouncer did not end")
		}
		if t.Failed() {
			t.Logf("PgBouncer:\n%s%s", out.String(), b.logged(t))
		}
	})
	eventually(t, "PgBouncer listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", b.port))
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	return b
}

func (b *bouncer) logged(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(b.log)
	require.NoError(t, err)
	return string(text)
}

// through is a connection string by way of the pooler.
func (b *bouncer) through(t testing.TB, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	u.Host = fmt.Sprintf("127.0.0.1:%d", b.port)
	return u.String()
}

// serve starts the server with both roles through the pooler. The pooler keeps its connections to Postgres when
// the server ends, so the harness does not count them.
func (b *bouncer) serve(t testing.TB, o options) *server {
	t.Helper()
	o.readonly, o.writer = b.through(t, b.db.Readonly), b.through(t, b.db.Writer)
	return start(t, nil, o)
}

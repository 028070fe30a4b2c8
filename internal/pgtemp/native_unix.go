//go:build unix

package pgtemp

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// supervisor is the shell script that outlives this process long enough to clean up after it.
//
//go:embed supervisor.sh
var supervisor string

// native is a server made of this machine's own binaries.
type native struct {
	bin, dir string
	port     int
	args     []string
	cred     *syscall.Credential // nil: run as ourselves

	pid   int            // the postmaster, 0 when not running
	watch *exec.Cmd      // the supervisor
	tell  io.WriteCloser // its pipe: it acts when this end is closed, also by kill -9
}

const startTimeout = 60 * time.Second

func startNative(ctx context.Context, bin, password string, opts Options) (_ *native, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	n := &native{bin: bin}
	if n.cred, err = unprivileged(); err != nil {
		return nil, err
	}
	if n.cred != nil {
		if err := passable(bin); err != nil {
			return nil, fmt.Errorf("not running Postgres as root, which it refuses, and user %d cannot run it: %w", n.cred.Uid, err)
		}
	}
	if n.dir, err = n.makeDir(opts.Dir); err != nil {
		return nil, err
	}
	if err := n.startSupervisor(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.dir))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.stop())
		}
	}()
	if err := n.initdb(ctx, password, opts.Durable); err != nil {
		return nil, err
	}
	n.args = serverArgs(opts.Durable, opts.settings...)
	url := func() string {
		return fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", password, n.port)
	}
	for try := 0; ; try++ {
		// The port is free now; somebody may take it before Postgres does. Then another one.
		if n.port, err = freePort(ctx); err != nil {
			return nil, err
		}
		err = n.launch(ctx, url())
		if err == nil {
			return n, nil
		}
		if try == 9 || !strings.Contains(n.log(), "ould not bind") {
			return nil, fmt.Errorf("%w\n%s", err, n.log())
		}
	}
}

// serverArgs are the settings beside directory and port; of two with the same name the last one counts.
func serverArgs(durable bool, more ...string) []string {
	settings := []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=",
		"max_connections=300", // parallel tests, each with two pools
		"timezone=UTC", "log_timezone=UTC",
		"logging_collector=off", "log_destination=stderr",
	}
	if !durable {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off",
			"autovacuum=off", "max_wal_size=1GB", "jit=off")
	}
	settings = append(settings, more...)
	args := make([]string, 0, 2*len(settings))
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

func (n *native) startSupervisor() error {
	cmd, out, err := n.command("/bin/sh", "-c", supervisor, "sw-pgtemp", n.dir)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Dir = "/" // it removes n.dir
	if n.tell, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	n.watch = cmd
	return nil
}

// announce tells the supervisor which process to end. A process id is 0 for none, or -1 for one
// that is just being started (it then looks into postmaster.pid).
func (n *native) announce(pid int) error {
	if _, err := fmt.Fprintf(n.tell, "%d\n", pid); err != nil {
		return fmt.Errorf("telling the supervisor: %w", err)
	}
	return nil
}

func (n *native) initdb(ctx context.Context, password string, durable bool) error {
	pwfile := filepath.Join(n.dir, "password")
	if err := os.WriteFile(pwfile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(pwfile)
	if n.cred != nil {
		if err := os.Chown(pwfile, int(n.cred.Uid), int(n.cred.Gid)); err != nil {
			return err
		}
	}
	args := []string{"-D", n.data(), "-U", "postgres", "-E", "UTF8", "--locale=" + locale(), "-A", "scram-sha-256", "--pwfile=" + pwfile}
	if !durable {
		args = append(args, "--no-sync")
	}
	cmd, out, err := n.command(filepath.Join(n.bin, "initdb"), args...)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting initdb: %w", err)
	}
	if err := n.announce(cmd.Process.Pid); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("running initdb: %w\n%s", errors.Join(ctx.Err(), err), n.log())
	}
	return n.announce(0)
}

func (n *native) data() string { return filepath.Join(n.dir, "data") }

// log is the end of the server's log.
func (n *native) log() string {
	b, err := os.ReadFile(filepath.Join(n.dir, "server.log"))
	if err != nil {
		return ""
	}
	const most = 4000
	if len(b) > most {
		b = b[len(b)-most:]
	}
	return string(b)
}

// launch starts the postmaster and returns when it answers url.
func (n *native) launch(ctx context.Context, url string) error {
	if err := os.Truncate(filepath.Join(n.dir, "server.log"), 0); err != nil {
		return err
	}
	cmd, out, err := n.command(filepath.Join(n.bin, "postgres"),
		append([]string{"-D", n.data(), "-p", strconv.Itoa(n.port)}, n.args...)...)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := n.announce(-1); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	n.pid = cmd.Process.Pid
	// From here on it is waited for by process id (see reap), without a goroutine that every
	// leak check in every test would have to know about.
	if err := errors.Join(cmd.Process.Release(), n.announce(n.pid)); err != nil {
		return errors.Join(err, n.kill())
	}
	for {
		gone, err := n.reap(false)
		if err != nil {
			return err
		}
		if gone {
			return errors.New("starting postgres: it ended at once")
		}
		err = ping(ctx, url)
		if err == nil {
			return nil
		}
		var refused *pgconn.PgError
		// 57P03: starting up, or recovering after a crash. Any other answer is final.
		if errors.As(err, &refused) && refused.Code != "57P03" {
			return errors.Join(fmt.Errorf("waiting for postgres: %w", err), n.kill())
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waiting for postgres: %w", errors.Join(ctx.Err(), err)), n.kill())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// reap collects the postmaster's exit; with wait it waits for it.
func (n *native) reap(wait bool) (gone bool, err error) {
	if n.pid == 0 {
		return true, nil
	}
	flags := syscall.WNOHANG
	if wait {
		flags = 0
	}
	for {
		pid, err := syscall.Wait4(n.pid, nil, flags, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return false, fmt.Errorf("waiting for the postmaster: %w", err)
		case pid == 0:
			return false, nil
		}
		n.pid = 0
		return true, n.announce(0)
	}
}

// reapWithin is reap with a deadline.
func (n *native) reapWithin(d time.Duration) (bool, error) {
	for deadline := time.Now().Add(d); ; {
		gone, err := n.reap(false)
		if gone || err != nil || time.Now().After(deadline) {
			return gone, err
		}
		time.Sleep(2 * time.Millisecond) // there is nothing to wait on but the process itself
	}
}

// kill ends every process of the server with SIGKILL, as a crash of the machine would. The
// children are in sessions of their own, so they are found by their parent; the postmaster is
// stopped meanwhile, so that it neither starts new ones nor tidies up after the dead.
func (n *native) kill() error {
	if n.pid == 0 {
		return nil
	}
	signal := func(pid int, sig syscall.Signal) error {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("killing process %d of the server: %w", pid, err)
		}
		return nil
	}
	err := signal(n.pid, syscall.SIGSTOP)
	pids, listErr := children(n.pid)
	err = errors.Join(err, listErr, signal(n.pid, syscall.SIGKILL))
	for _, pid := range pids {
		err = errors.Join(err, signal(pid, syscall.SIGKILL))
	}
	_, reapErr := n.reap(true)
	return errors.Join(err, reapErr)
}

// children lists the processes whose parent is pid.
func children(pid int) ([]int, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the server's processes with ps: %w", err)
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err == nil && parent == pid {
			pids = append(pids, child)
		}
	}
	return pids, nil
}

// restart starts the server again. After a kill an immediate start can fail while old backends are
// still exiting (they hold the shared memory), so the start itself is tried again for 10 s.
func (n *native) restart(ctx context.Context, url string) error {
	if n.pid != 0 {
		return errors.New("restarting the server: it is still running")
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for deadline := time.Now().Add(10 * time.Second); ; {
		err := n.launch(ctx, url)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("%w\n%s", err, n.log())
		}
		time.Sleep(50 * time.Millisecond) // old backends hold shared memory; nothing tells when they are gone
	}
}

// stop ends the server as fast as it goes (nobody needs what is in it) and removes its directory.
func (n *native) stop() error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	if n.pid != 0 {
		// SIGQUIT ends the children too, at once (manual, "Shutting Down the Server").
		if err := syscall.Kill(n.pid, syscall.SIGQUIT); err != nil && !errors.Is(err, syscall.ESRCH) {
			keep(fmt.Errorf("stopping the postmaster: %w", err))
		}
		gone, err := n.reapWithin(5 * time.Second)
		keep(err)
		if !gone {
			keep(n.kill())
		}
	}
	keep(os.RemoveAll(n.dir))
	if n.watch != nil {
		keep(n.tell.Close())
		keep(n.watch.Wait())
	}
	return first
}

func (n *native) describe() string { return "Postgres from " + n.bin }

// ownGroup keeps Ctrl-C at the terminal from reaching cmd before it reaches us.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// freePort asks the system for a port that is free at this moment.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer l.Close()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("looking for a free port: odd address %v", l.Addr())
	}
	return addr.Port, nil
}

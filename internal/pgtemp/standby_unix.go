//go:build unix

package pgtemp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// standby copies the stopped server, starts it again and starts the copy, which follows it. A copy of a
// stopped server needs neither pg_basebackup, which not every package of binaries has, nor a backup
// label (manual, "File System Level Backup").
func (n *native) standby(ctx context.Context, url, follow string, urlAt func(port int) string) (_ *native, err error) {
	s := &native{bin: n.bin, cred: n.cred, args: n.args}
	if s.dir, err = s.makeDir(filepath.Dir(n.dir)); err != nil {
		return nil, err
	}
	if err := s.startSupervisor(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if err := n.shutdown(); err != nil {
		return nil, err
	}
	copyErr := s.copyOf(n, follow)
	if err := errors.Join(copyErr, n.restart(ctx, url)); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		if s.port, err = freePort(ctx); err != nil {
			return nil, err
		}
		err = s.launch(ctx, urlAt(s.port))
		if err == nil {
			return s, nil
		}
		if try == 9 || !strings.Contains(s.log(), "ould not bind") {
			return nil, fmt.Errorf("%w\n%s", err, s.log())
		}
	}
}

// shutdown ends the server the orderly way: open transactions are rolled back, everything is on disk.
func (n *native) shutdown() error {
	if n.pid == 0 {
		return nil
	}
	if err := syscall.Kill(n.pid, syscall.SIGINT); err != nil {
		return fmt.Errorf("stopping the postmaster: %w", err)
	}
	gone, err := n.reapWithin(30 * time.Second)
	if err == nil && !gone {
		err = errors.New("stopping the postmaster: it did not end in 30 s")
	}
	return err
}

// copyOf makes n's data directory the same as that of a stopped server, and a standby.
func (n *native) copyOf(of *native, follow string) error {
	cmd, out, err := n.command("cp", "-R", "-p", of.data(), n.data())
	if err != nil {
		return err
	}
	defer out.Close()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("copying the data directory: %w\n%s", err, n.log())
	}
	conf, err := os.OpenFile(filepath.Join(n.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("naming the primary: %w", err)
	}
	_, err = fmt.Fprintf(conf, "primary_conninfo = '%s'\n", follow)
	if err := errors.Join(err, conf.Close()); err != nil {
		return fmt.Errorf("naming the primary: %w", err)
	}
	signal := filepath.Join(n.data(), "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return err
	}
	if n.cred != nil {
		return os.Chown(signal, int(n.cred.Uid), int(n.cred.Gid))
	}
	return nil
}

//go:build unix

package pgtemp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// unprivileged is whom to run Postgres as: nil for ourselves; when we are root, which Postgres
// refuses, user postgres or else nobody.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is a meaning of its own for SysProcAttr.Credential
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 != nil || err2 != nil || uid == 0 {
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("not running Postgres as root, which it refuses, and there is neither a user postgres nor nobody")
}

// passable tells whether any user can go through every directory on the way to dir.
func passable(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for d := resolve(dir); ; d = filepath.Dir(d) {
		st, err := os.Stat(d)
		if err != nil {
			return err
		}
		if st.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s is closed to other users", d)
		}
		if d == filepath.Dir(d) {
			return nil
		}
	}
}

// makeDir makes the cluster's own directory, owned by whom Postgres runs as.
func (n *native) makeDir(parent string) (string, error) {
	parents := []string{parent}
	if parent == "" {
		parents = []string{os.TempDir(), "/tmp", "/var/tmp"}
	}
	var err error
	for _, p := range parents {
		// os.TempDir may be a private one (t.TempDir of root is): Postgres' user could not enter.
		if n.cred != nil {
			if err = passable(p); err != nil {
				continue
			}
		}
		var dir string
		if dir, err = os.MkdirTemp(p, "sw-pgtemp-"); err != nil {
			continue
		}
		if n.cred != nil {
			if err := os.Chown(dir, int(n.cred.Uid), int(n.cred.Gid)); err != nil {
				return "", errors.Join(err, os.RemoveAll(dir))
			}
		}
		return dir, nil
	}
	return "", fmt.Errorf("making a directory for Postgres: %w", err)
}

// command prepares a child that runs as Postgres' user, in its own process group (Ctrl-C at the
// terminal reaches us first) and with its output in a file: a child that inherited our stdout
// would keep `go test` waiting for it.
func (n *native) command(name string, args ...string) (*exec.Cmd, *os.File, error) {
	out, err := os.OpenFile(filepath.Join(n.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(name, args...) //nolint:gosec // G204: our own argument lists
	cmd.Dir = n.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=" + locale(), "TZ=UTC", "HOME=" + n.dir}
	for _, key := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR"} {
		if v, ok := os.LookupEnv(key); ok {
			cmd.Env = append(cmd.Env, key+"="+v)
		}
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: n.cred}
	return cmd, out, nil
}

// locale is one that is there without anything being installed. An inherited one may not be.
func locale() string {
	if runtime.GOOS == "darwin" {
		return "C" // C.UTF-8 came late there
	}
	return "C.UTF-8"
}

//go:build unix

package runtimedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private refuses a directory of somebody else, or one that others may enter.
func private(path string, at fs.FileInfo) error {
	if owner(at) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (id %d)", path, owner(at))
	}
	if at.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s may be entered by others (mode %04o); look at what is in it, then chmod 700 it", path, at.Mode().Perm())
	}
	return nil
}

// safeParent refuses a directory in which others could exchange ours for theirs.
func safeParent(up fs.FileInfo) error {
	if id := owner(up); id != os.Geteuid() && id != 0 {
		return errors.New("belongs to another user")
	}
	if up.Mode().Perm()&0o022 != 0 && up.Mode()&os.ModeSticky == 0 {
		return errors.New("may be written by others and has no sticky bit")
	}
	return nil
}

// owner is the id of a file's user; -1 where the file system does not say.
func owner(at fs.FileInfo) int {
	if st, ok := at.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// alive says whether there is a process of that id, whoever it is now.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0) // signal 0 only asks (kill(2))
	return err == nil || errors.Is(err, syscall.EPERM)
}

// refused says that nobody listens behind a socket any more.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package plan

import (
	"os"
	"syscall"
)

// noFollow: a symbolic link in the journal's place is an error.
const noFollow = syscall.O_NOFOLLOW

// permissionsTell: the mode says who may read a file.
const permissionsTell = true

// lockFile takes the lock or fails at once; it ends with the file or the process, however it dies.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// unlockFile gives the lock back for every copy of the file: a child that is being started has one for a moment.
func unlockFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// syncDir puts the names in dir on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the directory of the configured journal
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

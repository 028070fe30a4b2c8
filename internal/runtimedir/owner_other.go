//go:build !unix

package runtimedir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// The directory lies in the user's own directory for temporary files, whose rights are inherited.
func private(string, fs.FileInfo) error { return nil }

func safeParent(fs.FileInfo) error { return nil }

// alive says whether there is a process of that id, whoever it is now.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // only asked whether it is there
	return true
}

// refused says that nobody listens behind a socket any more (WSAECONNREFUSED).
func refused(err error) bool { return errors.Is(err, syscall.Errno(10061)) }

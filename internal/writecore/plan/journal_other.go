//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package plan

import (
	"errors"
	"os"
)

const (
	noFollow        = 0
	permissionsTell = false
)

// lockFile refuses: a journal that two processes could share is worse than none.
func lockFile(*os.File) error { return errors.New("no file locks on this system") }

func syncDir(string) error { return nil }

func unlockFile(*os.File) {}

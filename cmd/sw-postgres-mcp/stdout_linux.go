package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// takeStdout moves the protocol's stream to a private descriptor and points descriptor 1 at
// stderr, so that a stray print anywhere, C code included, cannot corrupt the protocol. A client
// that is gone then shows as EPIPE and not as death by SIGPIPE, which Go keeps for 1 and 2.
func takeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("moving stdout aside: %w", err)
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		return nil, fmt.Errorf("pointing stdout at stderr: %w", err)
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}

//go:build unix

package mcpserver

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// clientLeft reports whether a write failed because nobody reads any more.
func clientLeft(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed)
}

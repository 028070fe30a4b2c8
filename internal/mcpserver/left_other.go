//go:build !unix

package mcpserver

import (
	"errors"
	"io"
	"os"
)

// clientLeft reports whether a write failed because nobody reads any more. Here the system's own
// error for a broken pipe (ERROR_NO_DATA, ERROR_BROKEN_PIPE) comes wrapped in *os.PathError.
func clientLeft(err error) bool {
	var path *os.PathError
	return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) || errors.As(err, &path)
}

//go:build !unix

package main

import "os"

// takeStdout keeps the protocol's stream and points os.Stdout at stderr, so that a stray print of
// Go code cannot corrupt the protocol. Here that is all that can be done.
func takeStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}

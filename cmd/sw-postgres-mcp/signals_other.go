//go:build !unix

package main

import (
	"os"
	"syscall"
)

// endSignals end the process in order.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// surviveBrokenPipes has nothing to do here: a write to a closed pipe fails and kills nobody.
func surviveBrokenPipes() {}

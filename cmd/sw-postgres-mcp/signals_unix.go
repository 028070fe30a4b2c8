//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endSignals end the process in order. SIGHUP: the terminal, and with it the client, is gone.
var endSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// surviveBrokenPipes makes a write to a reader that is gone an error (EPIPE) also on descriptors 1
// and 2, where Go otherwise ends the process by SIGPIPE: a commit may be under way. Asking for the
// signal is enough, and unlike ignoring it is not inherited by a browser that we start.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

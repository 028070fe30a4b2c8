// Command sw-postgres-mcp is a Model Context Protocol server on stdio that lets an agent read and
// change a Postgres database, without an accident that no person saw coming.
//
// This package is wiring: commands, signals, exit codes, the order of starting and stopping. It
// guarantees that stdout carries nothing but the protocol while serving (TestS19), that a client
// that leaves or a signal ends the process within two seconds plus a commit in flight (TestS17),
// and that a database that is down does not stop the handshake.
//
// It must never hold a rule about a statement or a plan: those have their homes in internal/.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	stdout, err := takeStdout()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sw-postgres-mcp:", err)
		os.Exit(exitRuntime)
	}
	surviveBrokenPipes()
	ctx, stop := signal.NotifyContext(context.Background(), endSignals...)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: stdout, err: os.Stderr, env: os.LookupEnv, environ: os.Environ()})
	stop()
	os.Exit(code)
}

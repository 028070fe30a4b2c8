//go:build !unix

package pgtemp

import (
	"context"
	"errors"
	"os/exec"
)

// native exists on Unix only: the supervisor is a shell script, and dropping root is a Unix matter.
type native struct{ port, pid int }

func startNative(context.Context, string, string, Options) (*native, error) {
	return nil, errors.New("starting Postgres from native binaries works on Linux and macOS only; start Docker instead")
}

func (*native) stop() error                           { return nil }
func (*native) kill() error                           { return nil }
func (*native) restart(context.Context, string) error { return nil }
func (*native) describe() string                      { return "native" }

func (*native) standby(context.Context, string, string, func(int) string) (*native, error) {
	return nil, errors.New("making a standby works on Linux and macOS only")
}

func ownGroup(*exec.Cmd) {}

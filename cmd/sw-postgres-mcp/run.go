package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes of the contract.
const (
	exitOK      = 0
	exitRuntime = 1
	exitUsage   = 2 // usage, configuration, or a database role that must not be used
)

// streams is what a command may touch of the outside. out carries the protocol while serving.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
	env func(string) (string, bool)
	// environ is all of it, to find variables that are misspelt.
	environ []string
}

// coded is an error that knows its exit code.
type coded struct {
	code int
	err  error
}

func (c coded) Error() string { return c.err.Error() }
func (c coded) Unwrap() error { return c.err }

// usage marks err as one that the person who typed or configured can mend.
func usage(err error) error { return coded{exitUsage, err} }

// commands holds the constructor of every command; each has a file of its own.
var commands = []func(*root) *cobra.Command{
	serveCommand, demoCommand, approvalsCommand, pinCommand, checkConfigCommand, seedDemoCommand, versionCommand, toolsCommand,
}

// root is what the commands share.
type root struct {
	streams
	config string // --config
	tools  string // --tools
}

// run is the whole program but for signals and os.Exit.
func run(ctx context.Context, args []string, s streams) int {
	r := &root{streams: s}
	started := false
	serve := serveCommand(r)
	cmd := &cobra.Command{
		Use:   "sw-postgres-mcp",
		Short: "An MCP server that previews every change to Postgres before it commits",
		Long: "sw-postgres-mcp serves the Model Context Protocol on stdin and stdout. Without a command it serves;\n" +
			"clients such as Claude Desktop, Claude Code, Cursor and VS Code start it that way.",
		Args:              cobra.NoArgs,
		RunE:              serve.RunE,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRun:  func(*cobra.Command, []string) { started = true },
	}
	cmd.PersistentFlags().StringVar(&r.config, "config", "", "configuration file (default $SW_POSTGRES_CONFIG, else ./config.json)")
	cmd.PersistentFlags().StringVar(&r.tools, "tools", "", "which tools are shown, e.g. readonly or \"default -ddl\" (see the command tools)")
	for _, make := range commands {
		cmd.AddCommand(make(r))
	}
	cmd.SetArgs(args)
	cmd.SetIn(s.in)
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(s.err, "sw-postgres-mcp:", err)
	var c coded
	switch {
	case errors.As(err, &c):
		return c.code
	case !started: // cobra's own: unknown command, unknown flag, too many arguments
		fmt.Fprintln(s.err, "Run 'sw-postgres-mcp --help' for usage.")
		return exitUsage
	}
	return exitRuntime
}

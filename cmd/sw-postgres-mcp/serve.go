package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/user"
	"sync"

	"github.com/spf13/cobra"

	"github.com/jpka/sw-postgres-mcp/internal/config"
)

func serveCommand(r *root) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP on stdin and stdout (the default)",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return r.serve(cmd.Context()) },
	}
}

// logger writes one line per event to stderr.
func (r *root) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r.err, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// serve answers one client until it leaves or ctx ends. An error is one that the contract gives an
// exit code; a client that leaves is none.
func (r *root) serve(ctx context.Context) error {
	log := r.logger()
	cfg, err := r.load()
	if err != nil {
		return err
	}
	a, err := newApp(ctx, cfg, log, r.desktop(cfg))
	if err != nil {
		return err
	}
	r.greet(a)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beside sync.WaitGroup
	if a.page != nil {
		beside.Go(a.servePage)
	}
	beside.Go(func() {
		if err := a.checkRoles(ctx); err != nil {
			cancel(err)
			return
		}
		a.recover(ctx)
	})
	c := newClient(r.in, r.out)
	err, late := untilStopped(ctx, c.ended, a.committing, func() error {
		err := a.server.Serve(ctx, c, c)
		cancel(nil) // the first cause counts: a refused role keeps its place
		a.close()
		beside.Wait()
		return err
	})
	if late {
		log.Warn("a call did not end in time and was left behind")
	}
	if refused, ok := errors.AsType[coded](context.Cause(ctx)); ok {
		return refused
	}
	return err
}

// load reads the configuration and says on stderr what is in force.
func (r *root) load() (config.Config, error) {
	cfg, notes, err := config.Load(r.config, r.lookup)
	for _, w := range append(notes.Warnings, config.Misspelt(r.environ)...) {
		r.say("WARNING: %s", w)
	}
	if err != nil {
		return config.Config{}, usage(err)
	}
	for _, line := range notes.Lines {
		r.say("%s", line)
	}
	return cfg, nil
}

// greet says where a person decides. The address with the secret is printed here, once, and nowhere
// else.
func (r *root) greet(a *app) {
	if a.page != nil {
		r.say("approval page (whoever has this address can approve): %s", a.page.SecretURL())
	}
}

// say writes one line to stderr.
func (r *root) say(format string, args ...any) {
	fmt.Fprintf(r.err, "sw-postgres-mcp: "+format+"\n", args...)
}

// desktop is what the page may use of the machine.
func (r *root) desktop(cfg config.Config) desktop {
	return desktop{env: r.env, open: r.browser(cfg)}
}

// browser is the way to open the page, nil where none is wanted or there is no desktop.
func (r *root) browser(cfg config.Config) func(string) error {
	if cfg.ApprovalServer.OpenBrowser == config.OpenBrowserNever {
		return nil
	}
	return browser(r.env)
}

// person is the name that decisions are recorded under until the person on the page gives another.
func person() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

var _ io.ReadWriter = (*client)(nil)

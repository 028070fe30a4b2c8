package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/config"
	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
	"github.com/jpka/sw-postgres-mcp/internal/runtimedir"
)

// approvalsCommand lists the servers of this user. Nothing that it prints approves anything, for an
// agent can run it too (TestS07NoCommandApproves).
func approvalsCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List your running servers, with their pages and how many plans wait",
		Long: "approvals lists the servers that run under your account on this machine, one per client, with the addresses\n" +
			"of their approval pages and how many plans wait. The addresses hold no secret: open a page with the link that\n" +
			"its server printed when it started, or with `approvals open`, where the server can reach a desktop.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.approvals(cmd.Context()) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "open [PORT]",
		Short: "Let a server open its page in the browser of its desktop",
		Long: "open asks a running server to open its page in your browser, with a one-time code that only the browser gets.\n" +
			"Without a port it asks the only server there is, else those where a plan waits.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.openApprovals(cmd.Context(), args) },
	})
	return cmd
}

// liveServers finds the directory and asks every server in it.
func (r *root) liveServers(ctx context.Context) (runtimedir.Dir, []runtimedir.Server, error) {
	d, err := runtimedir.Find(r.env)
	if err != nil {
		return d, nil, err
	}
	list, err := d.Servers(ctx)
	return d, list, err
}

func (r *root) approvals(ctx context.Context) error {
	_, list, err := r.liveServers(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		r.say("no server of yours is running on this machine")
		return nil
	}
	w := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "PAGE\tWAITING\tDATABASE\tCALLER\tPID\tOPEN IT WITH")
	for _, s := range list {
		if s.Silent {
			fmt.Fprintf(w, "%s\t?\t(does not answer)\t\t%d\t\n", pageOf(s), s.PID)
			continue
		}
		how := "the link that it printed"
		if s.CanOpen {
			how = "sw-postgres-mcp approvals open " + strconv.Itoa(s.Port)
		}
		fmt.Fprintf(w, "%s\t%d\t%s on %s\t%s\t%d\t%s\n", pageOf(s), s.Waiting,
			runtimedir.Clean(s.Database), runtimedir.Clean(s.Host), runtimedir.Clean(s.Caller), s.PID, how)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing the servers: %w", err)
	}
	return nil
}

func pageOf(s runtimedir.Server) string {
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) + "/"
}

func (r *root) openApprovals(ctx context.Context, args []string) error {
	port := 0
	if len(args) == 1 {
		var err error
		if port, err = strconv.Atoi(args[0]); err != nil || port < 1 || port > 65535 {
			return usage(errors.New("the argument of open is the port of a server, see `sw-postgres-mcp approvals`"))
		}
	}
	d, list, err := r.liveServers(ctx)
	if err != nil {
		return err
	}
	chosen, err := choose(list, port)
	if err != nil {
		return err
	}
	var failed error
	for _, s := range chosen {
		if err := d.Open(ctx, s); err != nil {
			failed = errors.Join(failed, fmt.Errorf("opening %s: %w", pageOf(s), err))
			continue
		}
		r.say("asked %s to open itself in your browser", pageOf(s))
	}
	return failed
}

// choose is which servers are meant.
func choose(list []runtimedir.Server, port int) ([]runtimedir.Server, error) {
	var named, waiting []runtimedir.Server
	for _, s := range list {
		if s.Port == port {
			named = append(named, s)
		}
		if s.Waiting > 0 {
			waiting = append(waiting, s)
		}
	}
	switch {
	case port != 0 && len(named) == 0:
		return nil, fmt.Errorf("no server of yours has port %d; see `sw-postgres-mcp approvals`", port)
	case port != 0:
		return named, nil
	case len(list) == 0:
		return nil, errors.New("no server of yours is running on this machine")
	case len(list) == 1:
		return list, nil
	case len(waiting) == 0:
		return nil, usage(fmt.Errorf("%d servers of yours run and nothing waits in any: name the port of the one you want, see `sw-postgres-mcp approvals`", len(list)))
	}
	return waiting, nil
}

// machine is what this server knows of the others of this user.
type machine struct{ dir runtimedir.Dir }

// Others implements approvalui.Others.
func (m machine) Others(ctx context.Context) ([]approvalui.Other, error) {
	list, err := m.dir.Servers(ctx)
	var out []approvalui.Other
	for _, s := range list {
		if s.PID == os.Getpid() || s.Silent {
			continue
		}
		out = append(out, approvalui.Other{Port: s.Port, Waiting: s.Waiting, Database: s.Database, Host: s.Host, Caller: s.Caller, CanOpen: s.CanOpen})
	}
	return out, err
}

// OpenOther implements approvalui.Others.
func (m machine) OpenOther(ctx context.Context, port int) error {
	list, err := m.dir.Servers(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Port == port && s.PID != os.Getpid() {
			return m.dir.Open(ctx, s)
		}
	}
	return errors.New("no such server")
}

// entry is this server as the others see it.
type entry struct {
	page    *approvalui.Server
	about   runtimedir.State
	started time.Time
}

// State implements runtimedir.Page.
func (e entry) State() runtimedir.State {
	s := e.about
	s.Waiting, s.CanOpen, s.Started = e.page.Waiting(), e.page.CanOpen(), e.started
	return s
}

// Open implements runtimedir.Page.
func (e entry) Open() error { return e.page.OpenWhenAsked() }

// pinOf is the PIN as the page asks for it; nil where none is set.
func pinOf(h *pinhash.Hash) approvalui.PIN {
	if h == nil {
		return nil // not h: a nil *Hash is not a nil interface
	}
	return h
}

// neighbours gives the page its machine: the other servers of this user, and the person's name.
// Without a usable directory the page works all the same, and the log says what is missing.
func neighbours(env func(string) (string, bool), log *slog.Logger) (runtimedir.Dir, bool) {
	d, err := runtimedir.Find(env)
	if err != nil {
		log.Warn("your other servers cannot find this one, and the name on the approval page is not kept", "cause", err)
		return runtimedir.Dir{}, false
	}
	return d, true
}

// register makes this server known to the others of this user.
func (a *app) register(cfg config.Config) {
	at := a.db.Writer().Address()
	e := entry{page: a.page, started: time.Now().UTC().Truncate(time.Second), about: runtimedir.State{
		Database: short(at.Database), Host: short(net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))), Caller: short(cfg.CallerID), Version: version,
	}}
	var err error
	if a.entry, err = a.dir.Register(a.page.Port(), e, a.log); err != nil {
		a.log.Warn("your other servers cannot find this one", "cause", err)
	}
}

// short bounds a text that other programs show.
func short(text string) string {
	const most = 200
	if r := []rune(strings.ToValidUTF8(text, "\uFFFD")); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

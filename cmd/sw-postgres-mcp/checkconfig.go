package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jpka/sw-postgres-mcp/internal/config"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// checkWithin bounds the whole check, so that a firewall that drops packets is a line and not a wait.
const checkWithin = 30 * time.Second

func checkConfigCommand(r *root) *cobra.Command {
	return &cobra.Command{
		Use:   "check-config",
		Short: "Check the configuration, the connections and the roles, one line each",
		Long: "check-config reads the configuration, connects with both connection strings, checks both roles, the\naudit schema and what the allowlists and masks name, and prints one line per check. It changes nothing.\n\n" +
			"ok    as it should be\nwarn  the server starts all the same, but something will not work, or is weaker than it should be\nFAIL  the server does not start, or refuses every call, until this is mended\n\n" +
			"Exit code 0: nothing failed (read the warnings); 2: something did.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.checkConfig(cmd.Context()) },
	}
}

// report prints checks as lines and counts the failed ones.
type report struct {
	out    io.Writer
	failed int
}

func (p *report) line(verdict, what, detail string) {
	fmt.Fprintf(p.out, "%-4s  %-22s %s\n", verdict, what, detail)
}

func (p *report) ok(what, detail string)   { p.line("ok", what, detail) }
func (p *report) warn(what, detail string) { p.line("warn", what, detail) }
func (p *report) fail(what string, err error) {
	p.failed++
	detail := err.Error()
	if e, ok := refusal.As(err); ok {
		detail = e.Message
		if e.Hint != "" {
			detail += " (" + e.Hint + ")"
		}
	}
	p.line("FAIL", what, strings.ReplaceAll(detail, "\n", "\n"+strings.Repeat(" ", 29)))
}

var errChecksFailed = errors.New("the configuration is not usable as it is")

func (r *root) checkConfig(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	p := &report{out: r.out}
	cfg, notes, err := config.Load(r.config, r.lookup)
	if err != nil {
		p.fail("configuration", err)
		return usage(errChecksFailed)
	}
	for _, line := range notes.Lines {
		p.ok("configuration", line)
	}
	for _, w := range append(notes.Warnings, config.Misspelt(r.environ)...) {
		p.warn("configuration", w)
	}
	p.journal(cfg.JournalPath)
	var warnings []string
	db, _, err := parts(ctx, cfg, slog.New(slog.DiscardHandler), func(w string) { warnings = append(warnings, w) })
	if err != nil {
		p.fail("configuration", err)
		return usage(errChecksFailed)
	}
	defer db.Close()
	p.pool(ctx, "readonly", db.Readonly())
	p.pool(ctx, "writer", db.Writer())
	if p.failed == 0 {
		if err := db.Check(ctx); err != nil {
			p.fail("roles", err)
		} else {
			p.ok("roles", "two different roles without privileges that would go round the walls")
		}
	}
	for _, w := range warnings {
		p.warn("database", w)
	}
	if p.failed == 0 {
		p.audit(ctx, db)
		p.allowlists(ctx, db, cfg.Allowlist.Read, cfg.Allowlist.Write)
		if shown, _ := cfg.Tools.Shows("run_migration"); shown {
			p.migrations(ctx, db, cfg.Database.MigrationRole, cfg.Allowlist.Write)
		}
		p.masks(ctx, db, cfg.Masks)
	}
	if p.failed > 0 {
		return usage(errChecksFailed)
	}
	return nil
}

// journal looks for the directory only: a server that runs has the file.
func (p *report) journal(path string) {
	if path == "" {
		return
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		p.fail("journal", fmt.Errorf("journal.path: the directory must exist: %w", err))
	case !info.IsDir():
		p.fail("journal", fmt.Errorf("journal.path: %s is not a directory", dir))
	default:
		p.ok("journal", path+": plans outlive a restart")
	}
}

// pool connects one pool.
func (p *report) pool(ctx context.Context, what string, pool *postgres.Pool) {
	s, err := pool.Acquire(ctx)
	if err != nil {
		p.fail(what, err)
		return
	}
	defer s.Release()
	at := pool.Address()
	p.ok(what, fmt.Sprintf("role %s on %s, database %s, Postgres %d", s.Role(), at.Host, at.Database, s.ServerVersion()/10000))
}

// audit looks whether the audit table can be read by the readonly role; whether the writer may
// insert is among the warnings of the connection.
func (p *report) audit(ctx context.Context, db *postgres.DB) {
	facts, err := db.Writer().Catalog().Lookup(ctx, sqlguard.Lookup{Relations: []sqlguard.Name{auditTable}}, true)
	if err != nil {
		p.fail("audit", err)
		return
	}
	log, ok := facts.Relations[auditTable]
	switch {
	case !ok:
		p.fail("audit", errors.New("there is no table mcp_audit.log: run docker/init/02_audit.sql as a superuser"))
	case !log.Can.Insert:
		p.fail("audit", errors.New("the writer may not INSERT into mcp_audit.log: run docker/init/02_audit.sql as a superuser"))
	case log.Can.Update || log.Can.Delete:
		p.warn("audit", "the writer may change or delete rows of mcp_audit.log: run docker/init/02_audit.sql as a superuser")
	default:
		p.ok("audit", "mcp_audit.log is there; the writer may insert and nothing else")
	}
}

var auditTable = sqlguard.Name{Schema: "mcp_audit", Name: "log"}

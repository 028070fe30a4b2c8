package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/ask"
	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/config"
	"github.com/jpka/sw-postgres-mcp/internal/mcpserver"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/runtimedir"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// app is the whole server, wired and not yet serving.
type app struct {
	log     *slog.Logger
	db      *postgres.DB
	guard   *sqlguard.Guard
	store   *plan.Store
	core    *writecore.TwoPhaseWrite
	journal *plan.Journal // nil where there is none
	server  *mcpserver.Server
	page    *approvalui.Server // nil where there is none
	desk    *ask.Desk          // nil where the client is never asked
	// refusals is what the tools refused lately, for the page.
	refusals *approvalui.Refusals
	// pageDown says that the page was bound and then failed: nobody can decide any more.
	pageDown atomic.Bool
	dir      runtimedir.Dir
	entry    *runtimedir.Entry // nil where the other servers of this user cannot find this one
}

// desktop is what the page may use of the machine that it runs on.
type desktop struct {
	env  func(string) (string, bool)
	open func(url string) error // nil: no browser can be opened, or none is wanted
}

// parts makes the database and the guard, which check-config needs too.
func parts(ctx context.Context, cfg config.Config, log *slog.Logger, warn func(string)) (*postgres.DB, *sqlguard.Guard, error) {
	db, err := postgres.Open(ctx, postgres.Options{
		ReadonlyURL:     cfg.Database.ReadonlyURL,
		WriterURL:       cfg.Database.WriterURL,
		MaxConnections:  cfg.Database.MaxConnections,
		AllowPrivileged: cfg.Database.AllowPrivilegedRoles,
		MigrationRole:   cfg.Database.MigrationRole,
		Masks:           cfg.Masks,
		Logger:          log,
		Warn:            warn,
		// It happens before reads and before writes; the tighter of two promises holds for both.
		DescribeTimeout:     min(cfg.Query.StatementTimeout, cfg.Write.StatementTimeout),
		DescribeLockTimeout: cfg.Write.LockTimeout,
	})
	if err != nil {
		return nil, nil, usage(err)
	}
	return db, sqlguard.New(sqlguard.Policy{
		Read: cfg.Allowlist.Read, Write: cfg.Allowlist.Write, AllowFunctions: cfg.Query.AllowFunctions,
		Masks: cfg.Masks,
	}), nil
}

// newApp wires everything and binds the page. It connects to nothing: a database that is down must
// not stop the handshake.
func newApp(ctx context.Context, cfg config.Config, log *slog.Logger, at desktop) (*app, error) {
	db, guard, err := parts(ctx, cfg, log, nil)
	if err != nil {
		return nil, err
	}
	a := &app{log: log, db: db, guard: guard, refusals: &approvalui.Refusals{}}
	if cfg.JournalPath != "" {
		if a.journal, err = plan.OpenJournal(cfg.JournalPath); err != nil {
			return nil, usage(fmt.Errorf("journal.path: %w", err))
		}
	}
	ledger := audit.NewLog(recorder(db), log)
	// A plan of the journal may expire while the store is being made, before there is anybody to record
	// it (TestJournalExpiresAtTheStart).
	var core *writecore.TwoPhaseWrite
	wired := make(chan struct{})
	a.store = plan.NewStore(plan.Options{
		PlanTTL:      cfg.Write.PlanTTL,
		ApprovalTTL:  cfg.Write.ApprovalTTL,
		MaxOpen:      cfg.Write.MaxOpenPlans,
		OnExpired:    func(p plan.Plan) { <-wired; core.RecordExpired(p) },
		OnSuperseded: func(p plan.Plan) { core.RecordSuperseded(p) },
		Journal:      a.journal,
		OnJournalError: func(err error) {
			log.Error("trouble with the plan journal; while it cannot be written, no plan is made, approved or executed", "cause", err)
		},
	})
	core = writecore.New(writecore.Options{
		Acquire:             writer(db),
		Connections:         int(cfg.Database.MaxConnections),
		Recheck:             recheck(db, guard),
		Disabled:            func(tool string) error { return tools.Disabled(cfg.Tools, cfg.ToolsFrom, tool) },
		Store:               a.store,
		Audit:               ledger,
		CanWrite:            guard.CanWrite,
		CanRead:             guard.CanRead,
		Limits:              writecore.Limits{ApprovalAbove: cfg.Write.ApprovalRequiredAboveRows, HardMax: cfg.Write.HardMaxRows, Rules: cfg.Write.Rules},
		StatementTimeout:    cfg.Write.StatementTimeout,
		LockTimeout:         cfg.Write.LockTimeout,
		ExecuteWait:         cfg.Write.ExecuteWait,
		PreviewLock:         cfg.Migration.PreviewLock,
		MaxPreviewBytes:     cfg.Migration.MaxPreviewBytes,
		RehearsalsPerMinute: cfg.Migration.PreviewsPerMinute,
		MigrationRole:       cfg.Database.MigrationRole,
		ReadonlyRole:        db.Readonly().Address().User,
		AuditRequired:       cfg.Audit.Required,
		ApprovalURL:         a.approvalURL,
		CallerID:            cfg.CallerID,
		Logger:              log,
	})
	close(wired)
	a.core = core
	if cfg.AsksClient() {
		a.desk = ask.New(ask.Options{
			Reviewer: core, Say: said(cfg.ApprovalServer.ConfirmAboveRows), PageURL: a.approvalURL,
			PageOnlyAbove: cfg.Approval.PageOnlyAboveRows, Wait: cfg.Write.ExecuteWait, Logger: log,
		})
	}
	if cfg.ApprovalServer.Enabled {
		if err := a.bindPage(cfg, core, ledger, at); err != nil {
			// The server still reads and makes small changes; what needs a person is refused.
			log.Error("THERE IS NO APPROVAL PAGE: changes that need a person are refused (APPROVAL_UNAVAILABLE)", "cause", err)
		}
	}
	var recordRead func(context.Context, tools.ReadEvent)
	if cfg.Audit.Reads {
		recordRead = recordReads(ledger, cfg.CallerID)
	}
	deps := tools.Deps{
		Text: guard, Rows: guard,
		ReadonlyCatalog: db.Readonly().Catalog(), WriterCatalog: db.Writer().Catalog(),
		Reads:  reads{pool: db.Readonly(), guard: guard},
		Writes: core, RecordRead: recordRead,
		Desk:   a.desk,
		Policy: cfg.Tools, PolicyFrom: cfg.ToolsFrom, NothingWritable: cfg.Allowlist.Write.Empty(),
		Limits: tools.Limits{
			QueryRows: cfg.Query.MaxRows, QueryBytes: cfg.Query.MaxBytes, QueryTimeout: cfg.Query.StatementTimeout,
			ApprovalAbove: cfg.Write.ApprovalRequiredAboveRows, ExecuteWait: cfg.Write.ExecuteWait,
		},
	}
	o := mcpserver.Options{
		Name: "sw-postgres-mcp", Title: "Postgres with previews", Version: version, Instructions: tools.InstructionsFor(cfg.Allowlist.Write.Empty()),
		Tools: observed(tools.All(deps), a.refusals), Prompts: tools.PromptsOf(deps),
		Logger: log,
	}
	if r := tools.ResourcesOf(deps); r != nil { // a nil *Resources is not a nil interface
		o.Resources = r
	}
	a.server = mcpserver.New(o)
	return a, nil
}

// bindPage makes the approval page and binds its port.
func (a *app) bindPage(cfg config.Config, core *writecore.TwoPhaseWrite, ledger *audit.Log, here desktop) error {
	at := a.db.Writer().Address()
	o := approvalui.Options{
		Reviewer: core, Prober: core, Ledger: a.store, Watcher: a.store, Trail: newTrail(a.db), Refusals: a.refusals,
		Port: cfg.ApprovalServer.Port, RequireAuth: cfg.ApprovalServer.RequireAuth, AuthToken: cfg.ApprovalServer.AuthToken,
		ExposeRawPayload: cfg.ApprovalServer.ExposeRawPayload, ConfirmAboveRows: cfg.ApprovalServer.ConfirmAboveRows,
		Database: at.Database, Host: net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), Role: at.User, MigrationRole: cfg.Database.MigrationRole,
		Caller: cfg.CallerID, Version: version, Person: person(),
		PrivilegedRoles:           cfg.Database.AllowPrivilegedRoles,
		ApprovalRequiredAboveRows: cfg.Write.ApprovalRequiredAboveRows, HardMaxRows: cfg.Write.HardMaxRows,
		AuditFailures: ledger.Failures,
		OpenBrowser:   here.open, OpenOnFirstPlan: cfg.ApprovalServer.OpenBrowser != config.OpenBrowserNever,
		PIN:    pinOf(cfg.ApprovalServer.PIN),
		Denied: core.RecordDenied,
		Logger: a.log,
	}
	if a.desk != nil && cfg.Approval.Channel == config.ChannelElicitation && cfg.ApprovalServer.OpenBrowser == config.OpenBrowserAuto {
		o.OpenFor = func(p plan.Plan) bool { return !a.desk.Likely(p) } // the client is asked first
	}
	if here.open != nil {
		o.OpenCommand = "sw-postgres-mcp approvals open"
	}
	dir, found := neighbours(here.env, a.log)
	if found {
		o.Others, o.Names = machine{dir}, dir
	}
	page, err := approvalui.New(o)
	if err != nil {
		return err
	}
	if err := page.Listen(); err != nil {
		return err
	}
	a.page, a.dir = page, dir
	if found {
		a.register(cfg)
	}
	return nil
}

// approvalURL is where a person decides, "" where nobody can.
func (a *app) approvalURL() string {
	if a.page == nil || a.pageDown.Load() {
		return ""
	}
	return a.page.URL()
}

// servePage answers until the page is closed.
func (a *app) servePage() {
	// Not the context of the signals: the page outlives the reading of stdin, see stop.
	if err := a.page.Serve(context.Background()); err != nil {
		a.pageDown.Store(true)
		a.log.Error("THE APPROVAL PAGE FAILED: changes that need a person are refused from now on (APPROVAL_UNAVAILABLE)", "cause", err)
	}
}

// committing reports whether a plan is being executed: the process must not end under it.
func (a *app) committing() bool {
	for _, p := range a.store.List() {
		if p.State == plan.Executing {
			return true
		}
	}
	return false
}

// checkRoles connects beside the handshake. Only a role or server that must not be used is an
// error; a database that is down is told and asked again by the calls themselves.
func (a *app) checkRoles(ctx context.Context) error {
	err := a.db.Check(ctx)
	switch {
	case err == nil:
		a.log.Info("connected to Postgres, roles checked")
		a.warnMasks(ctx)
		return nil
	case postgres.IsRoleError(err):
		return usage(err)
	case errors.Is(err, context.Canceled):
		return nil
	}
	a.log.Warn("Postgres cannot be used yet; calls answer DATABASE_UNAVAILABLE until it can", "cause", err)
	return nil
}

// recover settles the plans that an earlier process was executing when it died, as far as the ledger
// tells now. What is left is asked about again when its token is given back.
func (a *app) recover(ctx context.Context) {
	if len(a.store.Unsettled()) == 0 {
		return
	}
	executed, not, unknown := a.core.Recover(ctx)
	a.log.Info("plans that were executing when the server ended", "executed", executed, "not_executed", not, "unknown", unknown)
}

// close ends what serving left open, in the order of the stop: the page, the plans, the pools.
func (a *app) close() {
	if a.entry != nil {
		a.entry.Close()
	}
	if a.page != nil {
		a.page.Close()
	}
	a.store.Close()
	if a.journal != nil {
		a.journal.Close()
	}
	a.db.Close()
}

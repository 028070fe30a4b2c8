// Package config makes one immutable Config of a file, the environment and the defaults.
//
// It guarantees that a mistake in the configuration is loud: an unknown or duplicate key, a wrong
// type ("12" for 12, null), a value out of range, an impossible combination, or a setting that
// this version cannot honour yet, refuses the start and names the key and where it stands. No
// setting is ever dropped in silence, since the one dropped may be the one that keeps a database
// safe. See TestS22LoudAboutMistakes.
//
// It must never print or log a connection string, a token or a hash: not in errors, not through
// %v, slog or encoding/json. And it must never be read twice: what was decided at the start holds.
//
// The file is read strictly before viper sees it, and the environment is parsed here, because viper
// turns "12" into 12, 12.7 into 12 and "abc" into 0. What is left to viper is what it does well:
// laying environment over file over defaults.
package config

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
)

// Config is the whole configuration, checked. Its %v, %+v, %#v and slog forms hold no secret.
type Config struct {
	Database       Database
	Allowlist      Allowlist
	Write          Write
	Query          Query
	Migration      Migration
	Approval       Approval
	ApprovalServer ApprovalServer
	Audit          Audit
	// JournalPath is the file in which plans outlive the process, absolute; "" = in memory only.
	JournalPath string
	// Tools says which tools a session sees, ToolsFrom where that stands ("" = the default).
	Tools     toolpolicy.Policy
	ToolsFrom string
	// Masks are the columns whose values an agent never sees.
	Masks    []sqlguard.Mask
	CallerID string
}

// Database says how to get in. Both URLs are set.
type Database struct {
	ReadonlyURL          string `json:"-"`
	WriterURL            string `json:"-"`
	MigrationRole        string // "" = migrations run as the writer
	AllowPrivilegedRoles bool
	MaxConnections       int32 // per pool
}

// Allowlist holds what may be read (empty: everything) and written (empty: nothing).
type Allowlist struct {
	Read  sqlguard.Allowlist
	Write sqlguard.Allowlist
}

// Write bounds writes and plans.
type Write struct {
	PlanTTL                   time.Duration
	ApprovalTTL               time.Duration
	StatementTimeout          time.Duration
	LockTimeout               time.Duration
	ExecuteWait               time.Duration
	ApprovalRequiredAboveRows int64
	HardMaxRows               int64 // ≥ ApprovalRequiredAboveRows
	// Rules are those of single tables, in the order of the file.
	Rules        toolpolicy.Rules
	MaxOpenPlans int
}

// Query bounds reads.
type Query struct {
	StatementTimeout time.Duration
	MaxRows          int
	MaxBytes         int64
	AllowFunctions   []string
}

// Migration bounds what a migration's preview may do.
type Migration struct {
	PreviewLock     time.Duration
	MaxPreviewBytes int64
	// PreviewsPerMinute bounds how often strong locks are taken for what nobody has approved.
	PreviewsPerMinute int
}

// Where a person is asked.
const (
	ChannelPage        = "page"
	ChannelElicitation = "elicitation" // through the client; the page is there and does not open by itself
	ChannelBoth        = "both"
)

// Approval says where a person is asked about what the page alone need not decide.
type Approval struct {
	Channel           string
	PageOnlyAboveRows int64
}

// AsksClient says that the client may be asked at all: with a PIN every decision is on the page.
func (c Config) AsksClient() bool {
	return c.Approval.Channel != ChannelPage && c.ApprovalServer.PIN == nil
}

// When the server opens the browser by itself.
const (
	OpenBrowserAuto   = "auto" // where a desktop session exists
	OpenBrowserAlways = "always"
	OpenBrowserNever  = "never"
)

// ApprovalServer is the page. AuthToken "" means that the server draws one.
type ApprovalServer struct {
	Enabled          bool
	Port             int
	RequireAuth      bool
	AuthToken        string `json:"-"`
	OpenBrowser      string
	ExposeRawPayload bool
	ConfirmAboveRows int64
	// PIN is what approving needs beside the page's secret; nil where nothing is.
	PIN *pinhash.Hash `json:"-"`
}

// Audit says what must be, and what also is, recorded.
type Audit struct {
	Required bool
	Reads    bool
}

// String is the configuration for people, without secrets.
func (c Config) String() string {
	return fmt.Sprintf("database: %s; readable: %s; writable: %s; write: %+v; query: %+v; migration: %+v; approval: %+v; approvalServer: %s; masked: %v; audit: %+v; journal: %q; callerId: %q",
		c.Database, readable(c.Allowlist.Read), writable(c.Allowlist.Write), c.Write, c.Query, c.Migration, c.Approval, c.ApprovalServer, c.Masks, c.Audit, c.JournalPath, c.CallerID)
}

// GoString keeps %#v from printing secrets.
func (c Config) GoString() string { return "config.Config{" + c.String() + "}" }

// LogValue keeps slog from printing secrets.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String leaves out the connection strings: they hold passwords, in several notations.
func (d Database) String() string {
	return fmt.Sprintf("{readonly: %s, writer: %s, migrationRole: %q, allowPrivilegedRoles: %t, maxConnections: %d}",
		given(d.ReadonlyURL), given(d.WriterURL), d.MigrationRole, d.AllowPrivilegedRoles, d.MaxConnections)
}

// GoString keeps %#v from printing secrets.
func (d Database) GoString() string { return "config.Database" + d.String() }

// LogValue keeps slog from printing secrets.
func (d Database) LogValue() slog.Value { return slog.StringValue(d.String()) }

// String leaves out the token.
func (a ApprovalServer) String() string {
	return fmt.Sprintf("{enabled: %t, port: %d, requireAuth: %t, authToken: %s, openBrowser: %s, exposeRawPayload: %t, confirmAboveRows: %d, pin: %s}",
		a.Enabled, a.Port, a.RequireAuth, given(a.AuthToken), a.OpenBrowser, a.ExposeRawPayload, a.ConfirmAboveRows, map[bool]string{true: "(set)", false: "(not set)"}[a.PIN != nil])
}

// GoString keeps %#v from printing secrets.
func (a ApprovalServer) GoString() string { return "config.ApprovalServer" + a.String() }

// LogValue keeps slog from printing secrets.
func (a ApprovalServer) LogValue() slog.Value { return slog.StringValue(a.String()) }

func given(secret string) string {
	if secret == "" {
		return "(not set)"
	}
	return "(set)"
}

func readable(a sqlguard.Allowlist) string {
	if a.Empty() {
		return "everything (allowlist.read is empty)"
	}
	return a.String()
}

func writable(a sqlguard.Allowlist) string {
	if a.Empty() {
		return "nothing (allowlist.write is empty: every write is refused)"
	}
	return a.String()
}

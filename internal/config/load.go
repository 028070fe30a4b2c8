package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/viper"

	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
)

const (
	fileVariable = "SW_POSTGRES_CONFIG"
	defaultFile  = "config.json"
	maxFileBytes = 1 << 20
)

// Notes are for stderr at the start.
type Notes struct {
	// File is the absolute path of the file that was loaded, "" without one.
	File string
	// Lines say what is in force: the file, what may be read, what may be written.
	Lines []string
	// Warnings are what a person should see before anything else.
	Warnings []string
}

// Load reads the configuration once: the file at path (the --config flag), else at
// $SW_POSTGRES_CONFIG, else ./config.json if there is one; over it the environment through env
// (os.LookupEnv; an empty variable counts as not set). Every error is a mistake in the
// configuration (exit code 2) and names key, file or variable; several at once are joined.
func Load(path string, env func(string) (string, bool)) (Config, Notes, error) {
	l := &loader{v: viper.New(), source: map[string]string{}}
	for _, k := range table {
		l.v.SetDefault(k.name, k.value)
	}
	if err := l.readFile(path, env); err != nil {
		return Config{}, l.notes, err
	}
	l.readEnvironment(env)
	l.check()
	cfg := l.build()
	if len(l.problems) > 0 {
		return Config{}, l.notes, errors.Join(l.problems...)
	}
	l.describe(cfg)
	return cfg, l.notes, nil
}

type loader struct {
	v        *viper.Viper
	source   map[string]string // key → file or variable it came from; absent = default
	notes    Notes
	problems []error
}

func (l *loader) warn(format string, a ...any) {
	l.notes.Warnings = append(l.notes.Warnings, fmt.Sprintf(format, a...))
}

// problem blames a key, and where its value stands.
func (l *loader) problem(key, format string, a ...any) {
	where := ""
	if s := l.source[key]; s != "" {
		where = " (" + s + ")"
	}
	l.problems = append(l.problems, fmt.Errorf("%s%s: %s", key, where, fmt.Sprintf(format, a...)))
}

func (l *loader) readFile(path string, env func(string) (string, bool)) error {
	named := path != ""
	if !named {
		if path, _ = env(fileVariable); path != "" {
			named = true
		} else {
			path = defaultFile
		}
	}
	data, err := readBounded(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		here, _ := filepath.Abs(path)
		l.warn("no configuration file: %s does not exist, and neither --config nor %s names one. Nothing is writable (allowlist.write is empty)", here, fileVariable)
		return nil
	case err != nil:
		return fmt.Errorf("reading the configuration file %s: %w", path, err)
	}
	if l.notes.File, err = filepath.Abs(path); err != nil {
		l.notes.File = path
	}
	if err := l.takeFile(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))); err != nil { // a byte order mark, as some editors write it
		return err
	}
	l.warnExposed()
	return nil
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("it is larger than %d bytes", maxFileBytes)
	}
	return os.ReadFile(path) //nolint:gosec // the file that the operator named
}

// takeFile decodes strictly, then gives viper exactly what the file holds.
func (l *loader) takeFile(data []byte) error {
	var f file
	if err := strictjson.Decode(data, &f); err != nil {
		return fmt.Errorf("configuration file %s: %w", l.notes.File, explain(err))
	}
	given := map[string]bool{}
	if err := collect(data, reflect.TypeFor[file](), "", given); err != nil {
		return fmt.Errorf("configuration file %s: %w", l.notes.File, err)
	}
	tree := map[string]any{}
	leaves(reflect.ValueOf(f), "", func(name string, value any) {
		if given[name] {
			graft(tree, name, value)
			l.source[name] = l.notes.File
		}
	})
	if err := l.v.MergeConfigMap(tree); err != nil {
		return fmt.Errorf("configuration file %s: %w", l.notes.File, err)
	}
	return nil
}

// explain speaks of keys, by their full names.
func explain(err error) error {
	var e *strictjson.Error
	if !errors.As(err, &e) || e.Field == "" {
		return err
	}
	key := strictjson.Join(e.Path, e.Field)
	switch {
	case strings.HasPrefix(e.Message, "unknown field"):
		if near := suggestion(key); near != "" {
			return fmt.Errorf("unknown key %q; did you mean %q?", key, near)
		}
		return fmt.Errorf("unknown key %q", key)
	case strings.Contains(e.Message, "required"):
		return fmt.Errorf("%q is missing", key)
	default:
		return fmt.Errorf("key %q is given twice", key)
	}
}

// collect notes which leaves the text holds.
func collect(data []byte, t reflect.Type, prefix string, given map[string]bool) error {
	members, err := strictjson.Members(data)
	if err != nil {
		return err
	}
	for _, m := range members {
		name := strictjson.Join(prefix, m.Name)
		section := false
		for f := range t.Fields() {
			if f.Tag.Get("json") == m.Name && f.Type.Kind() == reflect.Struct {
				section = true
				if err := collect(m.Value, f.Type, name, given); err != nil {
					return err
				}
			}
		}
		given[name] = !section
	}
	return nil
}

func leaves(v reflect.Value, prefix string, visit func(name string, value any)) {
	for i := range v.NumField() {
		name := strictjson.Join(prefix, v.Type().Field(i).Tag.Get("json"))
		if v.Field(i).Kind() == reflect.Struct {
			leaves(v.Field(i), name, visit)
			continue
		}
		visit(name, v.Field(i).Interface())
	}
}

func graft(tree map[string]any, name string, value any) {
	parts := strings.Split(name, ".")
	for _, section := range parts[:len(parts)-1] {
		inner, ok := tree[section].(map[string]any)
		if !ok {
			inner = map[string]any{}
			tree[section] = inner
		}
		tree = inner
	}
	tree[parts[len(parts)-1]] = value
}

func (l *loader) integer(key string) int64 { n, _ := l.v.Get(key).(int64); return n }
func (l *loader) text(key string) string   { s, _ := l.v.Get(key).(string); return s }
func (l *loader) flag(key string) bool     { b, _ := l.v.Get(key).(bool); return b }
func (l *loader) list(key string) []string { s, _ := l.v.Get(key).([]string); return s }
func (l *loader) millis(key string) time.Duration {
	return time.Duration(l.integer(key)) * time.Millisecond
}

func (l *loader) check() {
	for _, k := range table {
		switch value := l.v.Get(k.name).(type) {
		case int64:
			if value < k.min || value > k.max {
				l.problem(k.name, "%d is out of range: it must be from %d to %d", value, k.min, k.max)
			}
		case string:
			if len(k.words) > 0 && !slices.Contains(k.words, value) {
				l.problem(k.name, "%q is not one of %s", value, strings.Join(k.words, ", "))
			}
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				l.problem(k.name, "it holds a control character")
			}
		case []string:
			for i, entry := range value {
				if strings.TrimSpace(entry) == "" {
					l.problem(fmt.Sprintf("%s[%d]", k.name, i), "it is empty")
				}
			}
		}
	}
	if hard, asked := l.integer("write.hardMaxRows"), l.integer("write.approvalRequiredAboveRows"); hard < asked {
		l.problem("write.hardMaxRows", "%d is less than write.approvalRequiredAboveRows (%d): nothing could ever be approved", hard, asked)
	}
	if !l.flag("approvalServer.enabled") {
		switch channel := l.text("approval.channel"); {
		case channel == ChannelBoth:
			l.problem("approval.channel", "%q is the page and the client, and approvalServer.enabled is false: there is no page", channel)
		case channel == ChannelElicitation && l.text("approvalServer.pinHash") != "":
			l.problem("approval.channel", "%q asks the client, but with approvalServer.pinHash every decision is on the page, and approvalServer.enabled is false: nobody could ever approve", channel)
		}
	}
	for _, key := range []string{"database.readonlyConnectionString", "database.writerConnectionString"} {
		if strings.TrimSpace(l.text(key)) == "" {
			l.problem(key, "it is not set: put it into the configuration file, or set %s", strings.Join(variables(key), " or "))
		}
	}
	// A client starts the server in any directory: a relative path would be another file each time.
	if path := l.text("journal.path"); path != "" && !filepath.IsAbs(path) {
		l.problem("journal.path", "%q is not an absolute path", path)
	}
	if len([]rune(l.text("callerId"))) > 200 {
		l.problem("callerId", "it is longer than 200 characters")
	}
}

func variables(key string) []string {
	for _, k := range table {
		if k.name == key {
			return k.env
		}
	}
	return nil
}

func (l *loader) build() Config {
	c := Config{
		Database: Database{
			ReadonlyURL: strings.TrimSpace(l.text("database.readonlyConnectionString")), WriterURL: strings.TrimSpace(l.text("database.writerConnectionString")),
			MigrationRole: l.text("database.migrationRole"), AllowPrivilegedRoles: l.flag("database.allowPrivilegedRoles"),
			MaxConnections: int32(l.integer("database.maxConnections")), //nolint:gosec // at most 1,000, or refused
		},
		Write: Write{
			PlanTTL: l.millis("write.planTtlMs"), ApprovalTTL: l.millis("write.approvalTtlMs"),
			StatementTimeout: l.millis("write.statementTimeoutMs"), LockTimeout: l.millis("write.lockTimeoutMs"), ExecuteWait: l.millis("write.executeWaitMs"),
			ApprovalRequiredAboveRows: l.integer("write.approvalRequiredAboveRows"), HardMaxRows: l.integer("write.hardMaxRows"),
			MaxOpenPlans: int(l.integer("write.maxOpenPlans")), Rules: l.rules(),
		},
		Query: Query{
			StatementTimeout: l.millis("query.statementTimeoutMs"), MaxRows: int(l.integer("query.maxRows")),
			MaxBytes: l.integer("query.maxBytes"), AllowFunctions: l.list("query.allowFunctions"),
		},
		Migration: Migration{PreviewLock: l.millis("migration.previewLockMs"), MaxPreviewBytes: l.integer("migration.maxPreviewBytes"), PreviewsPerMinute: int(l.integer("migration.previewsPerMinute"))},
		Approval:  Approval{Channel: l.text("approval.channel"), PageOnlyAboveRows: l.integer("approval.pageOnlyAboveRows")},
		ApprovalServer: ApprovalServer{
			Enabled: l.flag("approvalServer.enabled"), Port: int(l.integer("approvalServer.port")), RequireAuth: l.flag("approvalServer.requireAuth"),
			AuthToken: l.text("approvalServer.authToken"), OpenBrowser: l.text("approvalServer.openBrowser"),
			ExposeRawPayload: l.flag("approvalServer.exposeRawPayload"), ConfirmAboveRows: l.integer("approvalServer.confirmAboveRows"),
			PIN: l.pin(),
		},
		Audit:       Audit{Required: l.flag("audit.required"), Reads: l.flag("audit.reads")},
		JournalPath: l.text("journal.path"),
		ToolsFrom:   l.source["tools"],
		Masks:       l.masks(),
		CallerID:    l.text("callerId"),
	}
	if c.CallerID == "" {
		c.CallerID = "unknown"
	}
	read := toolpolicy.Parse
	if c.ToolsFrom == allowedTools {
		read = toolpolicy.Exact
	}
	var err error
	if c.Tools, err = read(l.text("tools")); err != nil {
		l.problem("tools", "%v", err)
	}
	if l.source["write.planTtlMs"] != "" && l.source["write.approvalTtlMs"] == "" {
		c.Write.ApprovalTTL = c.Write.PlanTTL // the contract: alone it rules both
	}
	c.Allowlist.Read = l.allowlist("allowlist.read", sqlguard.ParseAllowlist)
	c.Allowlist.Write = l.allowlist("allowlist.write", sqlguard.ParseWriteAllowlist)
	return c
}

// pin reads the hash of the PIN. A line that is none refuses the start: without it the page would
// ask for nothing. The line itself is never repeated.
func (l *loader) pin() *pinhash.Hash {
	const key = "approvalServer.pinHash"
	text := l.text(key)
	if text == "" {
		return nil
	}
	h, err := pinhash.Parse(text)
	if err != nil {
		l.problem(key, "%v", err)
		return nil
	}
	return &h
}

func (l *loader) allowlist(key string, parse func(schemas, tables []string) (sqlguard.Allowlist, error)) sqlguard.Allowlist {
	schemas, tables := l.list(key+".schemas"), l.list(key+".tables")
	a, err := parse(schemas, tables)
	if err != nil {
		where := ""
		if l.notes.File != "" {
			where = " (" + l.notes.File + ")"
		}
		l.problems = append(l.problems, fmt.Errorf("%s%s: %w", key, where, err))
	}
	if len(schemas) > 0 && len(tables) > 0 {
		l.warn("%[1]s.tables is not empty, so %[1]s.schemas does not count", key)
	}
	return a
}

// describeTools says which word on the tools counts and what it hides, where one was given.
func (l *loader) describeTools(c Config) {
	if c.ToolsFrom == "" {
		return
	}
	var hidden []string
	for _, r := range toolpolicy.Table() {
		if on, _ := c.Tools.Shows(r.Tool); !on {
			hidden = append(hidden, r.Tool)
		}
	}
	list := "none"
	if len(hidden) > 0 {
		list = strings.Join(hidden, ", ")
	}
	l.notes.Lines = append(l.notes.Lines, "tools: as "+c.ToolsFrom+" says; hidden: "+list)
}

// describeApproval warns of where a person's yes may not be one. See TestChannelIsWarnedOf.
func (l *loader) describeApproval(c Config) {
	switch {
	case c.ApprovalServer.Enabled:
	case c.AsksClient():
		l.warn("approvalServer.enabled is false: whatever needs a person's approval and is not asked through the client is refused (APPROVAL_UNAVAILABLE)")
	default:
		l.warn("approvalServer.enabled is false: whatever needs a person's approval is refused (APPROVAL_UNAVAILABLE)")
	}
	switch {
	case c.AsksClient():
		l.warn("approval.channel is %s: the client asks the person, and a client can answer its own question without showing it to anybody. "+
			"Migrations, changes of more than %d rows and effects that cannot be counted are still decided on the page only", c.Approval.Channel, c.Approval.PageOnlyAboveRows)
	case c.Approval.Channel != ChannelPage:
		l.warn("approval.channel is %s, but approvalServer.pinHash is set: every decision is on the page, and the client is never asked", c.Approval.Channel)
	}
}

func (l *loader) describe(c Config) {
	name := l.notes.File
	if name == "" {
		name = "none"
	}
	l.notes.Lines = append(l.notes.Lines, "configuration file: "+name, "readable: "+readable(c.Allowlist.Read), "writable: "+writable(c.Allowlist.Write))
	if len(c.Masks) > 0 {
		l.notes.Lines = append(l.notes.Lines, "masked: "+masked(c.Masks))
	}
	l.describeTools(c)
	if list := c.Allowlist.Read.Unreadable(c.Allowlist.Write); len(list) > 0 {
		l.warn("allowlist.write names what allowlist.read does not: %s. There update_rows and delete_rows, which show rows, are refused; insert_rows is not", strings.Join(list, ", "))
	}
	l.describeApproval(c)
	if !c.ApprovalServer.RequireAuth {
		l.warn("approvalServer.requireAuth is false: every program on this machine can read plans and approve them")
	}
	if token := c.ApprovalServer.AuthToken; token != "" && len(token) < 16 {
		l.warn("approvalServer.authToken is shorter than 16 characters; leave it out and one is generated")
	}
	if c.ApprovalServer.ExposeRawPayload {
		l.warn("approvalServer.exposeRawPayload is true: statements and params of waiting plans are part of GET /api/plans")
	}
	if c.Database.AllowPrivilegedRoles {
		l.warn("database.allowPrivilegedRoles is true: the walls inside the database are not checked")
	}
	if c.Write.ExecuteWait > 55*time.Second {
		l.warn("write.executeWaitMs is above 55000: most clients give up after 60 seconds")
	}
}

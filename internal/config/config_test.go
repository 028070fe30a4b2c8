package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/config"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
)

const password = "S3cr3t-pa55word"

// testBundle loads what a test writes.
type testBundle struct {
	path string
	env  map[string]string
}

func setup(t *testing.T, file string, env ...string) *testBundle {
	t.Helper()
	b := &testBundle{path: filepath.Join(t.TempDir(), "settings.json"), env: map[string]string{}}
	require.NoError(t, os.WriteFile(b.path, []byte(file), 0o600))
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		b.env[name] = value
	}
	return b
}

func (b *testBundle) load() (config.Config, config.Notes, error) {
	return config.Load(b.path, func(name string) (string, bool) { v, ok := b.env[name]; return v, ok })
}

const urls = `"database": {"readonlyConnectionString": "postgres://r:` + password + `@h/d", "writerConnectionString": "postgres://w:` + password + `@h/d"}`

func TestDefaults(t *testing.T) {
	t.Parallel()
	cfg, notes, err := setup(t, `{`+urls+`}`).load()
	require.NoError(t, err)
	want := config.Config{
		Database: config.Database{ReadonlyURL: "postgres://r:" + password + "@h/d", WriterURL: "postgres://w:" + password + "@h/d", MaxConnections: 10},
		Write: config.Write{
			PlanTTL: time.Minute, ApprovalTTL: 10 * time.Minute, StatementTimeout: 10 * time.Second, LockTimeout: 3 * time.Second,
			ExecuteWait: 50 * time.Second, ApprovalRequiredAboveRows: 100, HardMaxRows: 10_000, MaxOpenPlans: 20,
		},
		Query:          config.Query{StatementTimeout: 10 * time.Second, MaxRows: 1000, MaxBytes: 1 << 20},
		Migration:      config.Migration{PreviewLock: 2 * time.Second, MaxPreviewBytes: 64 << 20, PreviewsPerMinute: 6},
		Approval:       config.Approval{Channel: "page", PageOnlyAboveRows: 1000},
		ApprovalServer: config.ApprovalServer{Enabled: true, Port: 4319, RequireAuth: true, OpenBrowser: "auto", ConfirmAboveRows: 1000},
		CallerID:       "unknown",
	}
	require.True(t, cfg.Allowlist.Read.Empty())
	require.True(t, cfg.Allowlist.Write.Empty())
	want.Allowlist = cfg.Allowlist
	require.Equal(t, want, cfg)
	require.Empty(t, notes.Warnings)
	require.Contains(t, notes.Lines, "configuration file: "+notes.File)
	require.Contains(t, notes.Lines, "writable: nothing (allowlist.write is empty: every write is refused)")
}

func TestFile(t *testing.T) {
	t.Parallel()
	cfg, notes, err := setup(t, "\xef\xbb\xbf"+`{
		"database": {"readonlyConnectionString": "postgres://r@h/d", "writerConnectionString": "postgres://w@h/d", "migrationRole": "migrator",
			"allowPrivilegedRoles": true, "maxConnections": 3},
		"allowlist": {"read": {"schemas": ["app", "Odd"], "tables": []}, "write": {"schemas": ["app"], "tables": ["App.Orders", "app.\"a.b\""]}},
		"write": {"planTtlMs": 1000, "approvalTtlMs": 2000, "statementTimeoutMs": 1, "lockTimeoutMs": 2, "executeWaitMs": 0,
			"approvalRequiredAboveRows": 0, "hardMaxRows": 5, "maxOpenPlans": 1, "rules": []},
		"query": {"statementTimeoutMs": 3, "maxRows": 4, "maxBytes": 5, "allowFunctions": ["app.f"]},
		"migration": {"previewLockMs": 6, "maxPreviewBytes": 4096, "previewsPerMinute": 7},
		"approval": {"channel": "page", "pageOnlyAboveRows": 1000},
		"approvalServer": {"enabled": false, "port": 0, "requireAuth": false, "authToken": "short", "openBrowser": "never",
			"exposeRawPayload": true, "confirmAboveRows": 8, "pinHash": ""},
		"tools": "default", "mask": [], "audit": {"required": true, "reads": true}, "journal": {"path": ""}, "callerId": "me"}`).load()
	require.NoError(t, err)
	require.Equal(t, config.Database{
		ReadonlyURL: "postgres://r@h/d", WriterURL: "postgres://w@h/d", MigrationRole: "migrator", AllowPrivilegedRoles: true, MaxConnections: 3,
	}, cfg.Database)
	require.Equal(t, config.Write{
		PlanTTL: time.Second, ApprovalTTL: 2 * time.Second, StatementTimeout: time.Millisecond, LockTimeout: 2 * time.Millisecond,
		HardMaxRows: 5, MaxOpenPlans: 1,
	}, cfg.Write)
	require.Equal(t, config.Query{StatementTimeout: 3 * time.Millisecond, MaxRows: 4, MaxBytes: 5, AllowFunctions: []string{"app.f"}}, cfg.Query)
	require.Equal(t, config.Migration{PreviewLock: 6 * time.Millisecond, MaxPreviewBytes: 4096, PreviewsPerMinute: 7}, cfg.Migration)
	require.Equal(t, config.ApprovalServer{AuthToken: "short", OpenBrowser: "never", ExposeRawPayload: true, ConfirmAboveRows: 8}, cfg.ApprovalServer)
	require.Equal(t, config.Audit{Required: true, Reads: true}, cfg.Audit)
	require.Equal(t, "me", cfg.CallerID)
	require.True(t, cfg.Allowlist.Read.Allows("app", "x"))
	require.True(t, cfg.Allowlist.Read.Allows("odd", "x"))
	require.True(t, cfg.Allowlist.Write.Allows("app", "orders"))
	require.True(t, cfg.Allowlist.Write.Allows("app", "a.b"))
	require.False(t, cfg.Allowlist.Write.Allows("app", "other"), "tables overrule schemas")

	all := strings.Join(notes.Warnings, "\n")
	for _, want := range []string{
		"allowlist.write.tables is not empty", "approvalServer.enabled is false", "approvalServer.requireAuth is false",
		"approvalServer.authToken is shorter", "exposeRawPayload", "database.allowPrivilegedRoles",
	} {
		require.Contains(t, all, want)
	}
	require.Contains(t, strings.Join(notes.Lines, "\n"), "writable: app.")
}

// Every variable of the contract wins over the file.
// What may be written and not read takes no update_rows and delete_rows; the operator should hear of it.
func TestWritableAndNotReadable(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`{"read": {"tables": ["app.a"]}, "write": {"tables": ["app.a", "app.b", "hid.c"]}}`: "app.b, hid.c",
		`{"read": {"tables": ["app.a"]}, "write": {"schemas": ["app"]}}`:                    "app.*",
		`{"read": {"schemas": ["app"]}, "write": {"schemas": ["hid", "app"]}}`:              "hid.*",
		`{"read": {"schemas": ["app"]}, "write": {"tables": ["app.a", "\"A\".b"]}}`:         `"A".b`,
		`{"read": {"schemas": ["app"]}, "write": {"tables": ["app.a"]}}`:                    "",
		`{"read": {"schemas": ["app"]}}`:                                                    "",
		`{"write": {"schemas": ["app"]}}`:                                                   "",
	} {
		_, notes, err := setup(t, `{`+urls+`, "allowlist": `+list+`}`).load()
		require.NoError(t, err, list)
		if want == "" {
			require.Empty(t, notes.Warnings, list)
			continue
		}
		require.Len(t, notes.Warnings, 1, list)
		require.Contains(t, notes.Warnings[0], "allowlist.read does not: "+want+". There", list)
	}
}

func TestEnvironmentWins(t *testing.T) {
	t.Parallel()
	file := `{` + urls + `, "callerId": "file", "write": {"hardMaxRows": 7000, "planTtlMs": 5}, "approvalServer": {"enabled": true, "port": 1}, "audit": {"reads": true}}`
	for variable, c := range map[string]struct {
		value string
		got   func(config.Config) any
		want  any
	}{
		"DATABASE_URL_READONLY":            {"postgres://x", func(c config.Config) any { return c.Database.ReadonlyURL }, "postgres://x"},
		"POSTGRES_READONLY_URL":            {"postgres://x", func(c config.Config) any { return c.Database.ReadonlyURL }, "postgres://x"},
		"DATABASE_URL_WRITER":              {" postgres://x ", func(c config.Config) any { return c.Database.WriterURL }, "postgres://x"},
		"POSTGRES_WRITER_URL":              {"postgres://x", func(c config.Config) any { return c.Database.WriterURL }, "postgres://x"},
		"DATABASE_URL":                     {"postgres://x", func(c config.Config) any { return c.Database.WriterURL }, "postgres://x"},
		"SW_PLAN_TTL_MS":                   {"11", func(c config.Config) any { return c.Write.PlanTTL }, 11 * time.Millisecond},
		"SW_APPROVAL_TTL_MS":               {"11", func(c config.Config) any { return c.Write.ApprovalTTL }, 11 * time.Millisecond},
		"SW_STATEMENT_TIMEOUT_MS":          {"11", func(c config.Config) any { return c.Write.StatementTimeout }, 11 * time.Millisecond},
		"SW_LOCK_TIMEOUT_MS":               {"11", func(c config.Config) any { return c.Write.LockTimeout }, 11 * time.Millisecond},
		"SW_EXECUTE_WAIT_MS":               {"11", func(c config.Config) any { return c.Write.ExecuteWait }, 11 * time.Millisecond},
		"SW_APPROVAL_REQUIRED_ABOVE_ROWS":  {"11", func(c config.Config) any { return c.Write.ApprovalRequiredAboveRows }, int64(11)},
		"SW_HARD_MAX_ROWS":                 {"111", func(c config.Config) any { return c.Write.HardMaxRows }, int64(111)},
		"SW_MAX_OPEN_PLANS":                {"11", func(c config.Config) any { return c.Write.MaxOpenPlans }, 11},
		"SW_QUERY_STATEMENT_TIMEOUT_MS":    {"11", func(c config.Config) any { return c.Query.StatementTimeout }, 11 * time.Millisecond},
		"SW_QUERY_MAX_ROWS":                {"11", func(c config.Config) any { return c.Query.MaxRows }, 11},
		"SW_QUERY_MAX_BYTES":               {"11", func(c config.Config) any { return c.Query.MaxBytes }, int64(11)},
		"SW_APPROVAL_CHANNEL":              {"page", func(config.Config) any { return nil }, nil},
		"SW_APPROVAL_SERVER_ENABLED":       {"false", func(c config.Config) any { return c.ApprovalServer.Enabled }, false},
		"SW_APPROVAL_SERVER_PORT":          {"0", func(c config.Config) any { return c.ApprovalServer.Port }, 0},
		"SW_APPROVAL_SERVER_REQUIRE_AUTH":  {"0", func(c config.Config) any { return c.ApprovalServer.RequireAuth }, false},
		"SW_APPROVAL_SERVER_AUTH_TOKEN":    {"0123456789abcdef", func(c config.Config) any { return c.ApprovalServer.AuthToken }, "0123456789abcdef"},
		"SW_APPROVAL_SERVER_OPEN_BROWSER":  {"never", func(c config.Config) any { return c.ApprovalServer.OpenBrowser }, "never"},
		"SW_TOOLS":                         {"readonly", shownTools, "describe_schema query explain_plan"},
		"SW_ALLOWED_TOOLS":                 {"query", shownTools, "query"},
		"--tools":                          {"-rows -ddl", shownTools, "describe_schema query explain_plan execute_plan"},
		"SW_AUDIT_REQUIRED":                {"1", func(c config.Config) any { return c.Audit.Required }, true},
		"SW_AUDIT_READS":                   {"false", func(c config.Config) any { return c.Audit.Reads }, false},
		"SW_JOURNAL_PATH":                  {"/var/lib/sw/plans.jsonl", func(c config.Config) any { return c.JournalPath }, "/var/lib/sw/plans.jsonl"},
		"SW_CALLER_ID":                     {"env", func(c config.Config) any { return c.CallerID }, "env"},
		"SW_PLAN_TTL_MS=, empty = not set": {"", func(c config.Config) any { return c.Write.PlanTTL }, 5 * time.Millisecond},
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(variable, "=")
			cfg, _, err := setup(t, file, name+"="+c.value).load()
			require.NoError(t, err)
			require.Equal(t, c.want, c.got(cfg))
		})
	}
	named := map[string]bool{}
	for _, k := range config.Keys() {
		for _, variable := range k.Env {
			named[variable] = true
		}
	}
	require.Len(t, named, 28, "a new variable needs a row above")
}

func TestOrderOfVariables(t *testing.T) {
	t.Parallel()
	b := setup(t, `{}`, "DATABASE_URL=postgres://third", "POSTGRES_WRITER_URL=postgres://second", "DATABASE_URL_WRITER=postgres://first",
		"POSTGRES_READONLY_URL=postgres://second", "DATABASE_URL_READONLY=")
	cfg, _, err := b.load()
	require.NoError(t, err)
	require.Equal(t, "postgres://first", cfg.Database.WriterURL)
	require.Equal(t, "postgres://second", cfg.Database.ReadonlyURL)

	b = setup(t, `{`+urls+`}`, "DATABASE_URL=postgres://u:"+password+"@elsewhere/d")
	_, notes, err := b.load()
	require.NoError(t, err)
	require.Contains(t, strings.Join(notes.Warnings, "\n"), "DATABASE_URL is set and wins over database.writerConnectionString")
	require.NotContains(t, strings.Join(notes.Warnings, "\n"), password)
}

// If only planTtlMs is set it rules both.
func TestPlanTTLAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, env      string
		plan, approval int
	}{
		{`"write": {"planTtlMs": 1000}`, "", 1000, 1000},
		{`"callerId": "x"`, "SW_PLAN_TTL_MS=1000", 1000, 1000},
		{`"write": {"planTtlMs": 1000, "approvalTtlMs": 600000}`, "", 1000, 600_000},
		{`"write": {"planTtlMs": 1000}`, "SW_APPROVAL_TTL_MS=7", 1000, 7},
		{`"write": {"approvalTtlMs": 7}`, "", 60_000, 7},
	} {
		cfg, _, err := setup(t, `{`+urls+`,`+c.file+`}`, c.env).load()
		require.NoError(t, err)
		require.Equal(t, time.Duration(c.plan)*time.Millisecond, cfg.Write.PlanTTL, c)
		require.Equal(t, time.Duration(c.approval)*time.Millisecond, cfg.Write.ApprovalTTL, c)
	}
}

// TestS22LoudAboutMistakes: misspelt, wrong type, duplicate, out of range, impossible, not built:
// the start is refused, and the error names the key and where it stands.
func TestS22LoudAboutMistakes(t *testing.T) {
	t.Parallel()
	write := func(s string) string { return `{` + urls + `, "write": {` + s + `}}` }
	for name, c := range map[string]struct {
		file string
		env  string
		want []string
	}{
		"misspelt":                 {file: write(`"hardMaxRow": 5`), want: []string{`unknown key "write.hardMaxRow"; did you mean "write.hardMaxRows"?`, "settings.json"}},
		"misspelt section":         {file: `{"databse": {}}`, want: []string{`unknown key "databse"; did you mean "database"?`}},
		"wrong section":            {file: `{"hardMaxRows": 5}`, want: []string{`unknown key "hardMaxRows"; did you mean "write.hardMaxRows"?`}},
		"snake case":               {file: write(`"hard_max_rows": 5`), want: []string{`did you mean "write.hardMaxRows"?`}},
		"unknown":                  {file: `{"autoApprove": true}`, want: []string{`unknown key "autoApprove"`}},
		"comment":                  {file: `{"//": "text"}`, want: []string{`unknown key`}},
		"dotted":                   {file: `{"write.hardMaxRows": 5}`, want: []string{`unknown key`}},
		"string for number":        {file: write(`"hardMaxRows": "12"`), want: []string{`write.hardMaxRows: must be an integer, not the string "12"`, "settings.json"}},
		"fraction":                 {file: write(`"hardMaxRows": 12.7`), want: []string{`write.hardMaxRows: must be an integer`}},
		"null":                     {file: write(`"hardMaxRows": null`), want: []string{`write.hardMaxRows: must be an integer, not null`}},
		"null section":             {file: `{"write": null}`, want: []string{`write: must be an object, not null`}},
		"string for bool":          {file: `{"approvalServer": {"requireAuth": "false"}}`, want: []string{`approvalServer.requireAuth: must be true or false, not the string "false"`}},
		"string for list":          {file: `{"allowlist": {"write": {"schemas": "app"}}}`, want: []string{`allowlist.write.schemas: must be an array, not a string`}},
		"number in list":           {file: `{"allowlist": {"write": {"schemas": ["app", 1]}}}`, want: []string{`allowlist.write.schemas[1]: must be a string`}},
		"duplicate":                {file: write(`"hardMaxRows": 200, "hardMaxRows": 300`), want: []string{`key "write.hardMaxRows" is given twice`}},
		"duplicate section":        {file: `{"write": {}, "write": {}}`, want: []string{`key "write" is given twice`}},
		"not JSON":                 {file: `{"write": {},}`, want: []string{"is not valid JSON", "settings.json"}},
		"YAML":                     {file: "write:\n  hardMaxRows: 5\n", want: []string{"is not valid JSON"}},
		"empty":                    {file: "", want: []string{"is empty where JSON was expected"}},
		"array":                    {file: "[]", want: []string{"must be an object"}},
		"huge":                     {file: `{"callerId": "` + strings.Repeat("x", 1<<20) + `"}`, want: []string{"it is larger than 1048576 bytes"}},
		"negative time":            {file: write(`"planTtlMs": -1`), want: []string{"write.planTtlMs (", "settings.json): -1 is out of range: it must be from 1"}},
		"no timeout":               {file: write(`"statementTimeoutMs": 0`), want: []string{"write.statementTimeoutMs", "0 is out of range"}},
		"no lock timeout":          {file: write(`"lockTimeoutMs": 0`), want: []string{"write.lockTimeoutMs", "0 is out of range"}},
		"huge time":                {file: write(`"approvalTtlMs": 9223372036854775807`), want: []string{"write.approvalTtlMs", "out of range"}},
		"above int64":              {file: write(`"approvalTtlMs": 9223372036854775808`), want: []string{"write.approvalTtlMs: 9223372036854775808 is out of range"}},
		"cap below threshold":      {file: write(`"hardMaxRows": 50`), want: []string{"write.hardMaxRows", "50 is less than write.approvalRequiredAboveRows (100)"}},
		"port":                     {file: `{` + urls + `, "approvalServer": {"port": 65536}}`, want: []string{"approvalServer.port", "from 0 to 65535"}},
		"browser":                  {file: `{` + urls + `, "approvalServer": {"openBrowser": "yes"}}`, want: []string{`approvalServer.openBrowser`, `"yes" is not one of auto, always, never`}},
		"browser, empty":           {file: `{` + urls + `, "approvalServer": {"openBrowser": ""}}`, want: []string{`approvalServer.openBrowser`, `"" is not one of auto, always, never`}},
		"connections":              {file: `{"database": {"maxConnections": 1}}`, want: []string{"database.maxConnections", "1 is out of range"}},
		"empty table":              {file: `{` + urls + `, "allowlist": {"write": {"tables": [" "]}}}`, want: []string{"allowlist.write.tables[0]", "it is empty"}},
		"table without schema":     {file: `{` + urls + `, "allowlist": {"write": {"tables": ["orders"]}}}`, want: []string{"allowlist.write (", "settings.json", `"orders"`}},
		"schema with dot":          {file: `{` + urls + `, "allowlist": {"read": {"schemas": ["app.orders"]}}}`, want: []string{"allowlist.read (", `"app.orders"`}},
		"audit schema writable":    {file: `{` + urls + `, "allowlist": {"write": {"schemas": ["mcp_audit"]}}}`, want: []string{"allowlist.write (", "never writable"}},
		"audit table writable":     {file: `{` + urls + `, "allowlist": {"write": {"tables": ["mcp_audit.log"]}}}`, want: []string{"allowlist.write (", "never writable"}},
		"control character":        {file: `{` + urls + `, "callerId": "a\nb"}`, want: []string{"callerId", "control character"}},
		"long caller":              {file: `{` + urls + `, "callerId": "` + strings.Repeat("é", 201) + `"}`, want: []string{"callerId", "200 characters"}},
		"no readonly":              {file: `{"database": {"writerConnectionString": "postgres://w"}}`, want: []string{"database.readonlyConnectionString", "DATABASE_URL_READONLY or POSTGRES_READONLY_URL"}},
		"no writer":                {file: `{"database": {"readonlyConnectionString": "postgres://r", "writerConnectionString": " "}}`, want: []string{"database.writerConnectionString", "DATABASE_URL_WRITER or POSTGRES_WRITER_URL or DATABASE_URL"}},
		"several at once":          {file: `{"write": {"hardMaxRows": 5, "planTtlMs": 0}}`, want: []string{"readonlyConnectionString", "writerConnectionString", "write.hardMaxRows", "write.planTtlMs"}},
		"variable, word":           {file: `{` + urls + `}`, env: "SW_HARD_MAX_ROWS=abc", want: []string{`environment variable SW_HARD_MAX_ROWS (write.hardMaxRows): "abc" is not an integer`}},
		"variable, fraction":       {file: `{` + urls + `}`, env: "SW_HARD_MAX_ROWS=5000.0", want: []string{`"5000.0" is not an integer`}},
		"variable, separators":     {file: `{` + urls + `}`, env: "SW_HARD_MAX_ROWS=5_000", want: []string{`"5_000" is not an integer`}},
		"variable, space":          {file: `{` + urls + `}`, env: "SW_HARD_MAX_ROWS= 5000", want: []string{`" 5000" is not an integer`}},
		"variable, range":          {file: `{` + urls + `}`, env: "SW_PLAN_TTL_MS=-5", want: []string{`write.planTtlMs (SW_PLAN_TTL_MS): -5 is out of range`}},
		"variable, bool":           {file: `{` + urls + `}`, env: "SW_APPROVAL_SERVER_REQUIRE_AUTH=no", want: []string{`SW_APPROVAL_SERVER_REQUIRE_AUTH`, `"no" is neither true nor false`}},
		"variable, cap":            {file: `{` + urls + `}`, env: "SW_HARD_MAX_ROWS=99", want: []string{`write.hardMaxRows (SW_HARD_MAX_ROWS): 99 is less than`}},
		"variable, word of a list": {file: `{` + urls + `}`, env: "SW_APPROVAL_SERVER_OPEN_BROWSER=sometimes", want: []string{`approvalServer.openBrowser (SW_APPROVAL_SERVER_OPEN_BROWSER)`}},
		"mask, two parts":          {file: `{` + urls + `, "mask": [{"column": "users.email", "as": "null"}]}`, want: []string{"mask[0].column (", `"users.email" is not a column's full name`, "settings.json"}},
		"mask, a pattern":          {file: `{` + urls + `, "mask": [{"column": "app.users.*", "as": "null"}]}`, want: []string{"mask[0].column"}},
		"mask, twice":              {file: `{` + urls + `, "mask": [{"column": "app.users.email", "as": "null"}, {"column": "App.Users.\"email\"", "as": "hash"}]}`, want: []string{"mask[1].column (", "app.users.email is masked twice"}},
		"mask, the system":         {file: `{` + urls + `, "mask": [{"column": "pg_catalog.pg_class.relname", "as": "null"}]}`, want: []string{"mask[0].column", "cannot be masked"}},
		"mask, the trail":          {file: `{` + urls + `, "mask": [{"column": "mcp_audit.log.statement", "as": "null"}]}`, want: []string{"mask[0].column", "cannot be masked"}},
		"mask, a system column":    {file: `{` + urls + `, "mask": [{"column": "app.users.ctid", "as": "null"}]}`, want: []string{"mask[0].column", "system column"}},
		"mask, unknown key":        {file: `{` + urls + `, "mask": [{"column": "app.users.email", "as": "null", "how": "x"}]}`, want: []string{"mask[0].how"}},
		"mask, no way":             {file: `{` + urls + `, "mask": [{"column": "app.users.email"}]}`, want: []string{`"mask[0].as" is missing`}},
		"mask, a text":             {file: `{` + urls + `, "mask": "app.users.email"}`, want: []string{"mask"}},
		"mask, shape":              {file: `{` + urls + `, "mask": [{"column": "app.users.email", "as": "blur"}]}`, want: []string{"mask[0].as", `"blur" is not one of`}},
		"mask, no column":          {file: `{` + urls + `, "mask": [{"as": "null"}]}`, want: []string{`"mask[0].column" is missing`}},
		"rules, empty":             {file: write(`"rules": [{"tables": []}]`), want: []string{"write.rules[0].tables (", "names at least one table"}},
		"rules, no schema":         {file: write(`"rules": [{"tables": ["payments"], "deny": true}]`), want: []string{"write.rules[0].tables[0]", "is not schema.table"}},
		"rules, operation":         {file: write(`"rules": [{"tables": ["a.b"], "deny": true}, {"tables": ["a.b"], "operations": ["truncate"], "deny": true}]`), want: []string{"write.rules[1].operations[0]", `"truncate" is not one of`}},
		"rules, approval":          {file: write(`"rules": [{"tables": ["a.b"], "requireApproval": "never"}]`), want: []string{"write.rules[0].requireApproval", `"never" is not "always"`}},
		"rules, loosened cap":      {file: write(`"hardMaxRows": 500, "rules": [{"tables": ["a.b"], "hardMaxRows": 501}]`), want: []string{"write.rules[0].hardMaxRows", "can only tighten"}},
		"rules, threshold":         {file: write(`"rules": [{"tables": ["a.b"], "hardMaxRows": 5, "approvalRequiredAboveRows": 6}]`), want: []string{"write.rules[0].approvalRequiredAboveRows", "nothing could ever be approved"}},
		"rules, negative":          {file: write(`"rules": [{"tables": ["a.b"], "hardMaxRows": -1}]`), want: []string{"write.rules[0].hardMaxRows", "out of range"}},
		"rules, idle":              {file: write(`"rules": [{"tables": ["a.b"]}]`), want: []string{"write.rules[0].tables", "does nothing"}},
		"rules, column":            {file: write(`"rules": [{"tables": ["a.b"], "whereColumns": [""]}]`), want: []string{"write.rules[0].whereColumns", "empty"}},
		"rules, shape":             {file: write(`"rules": [{"table": ["app.payments"]}]`), want: []string{`unknown key "write.rules[0].table"`}},
		"journal, relative":        {file: `{` + urls + `, "journal": {"path": "plans.jsonl"}}`, want: []string{"journal.path (", `"plans.jsonl" is not an absolute path`}},
		"journal, relative, env":   {file: `{` + urls + `}`, env: "SW_JOURNAL_PATH=../j", want: []string{"journal.path (SW_JOURNAL_PATH)", "absolute path"}},
		"channel, without a page":  {file: `{` + urls + `, "approval": {"channel": "both"}, "approvalServer": {"enabled": false}}`, want: []string{"approval.channel (", "there is no page"}},
		"channel, nobody":          {file: `{` + urls + `, "approval": {"channel": "elicitation"}, "approvalServer": {"enabled": false, "pinHash": "x"}}`, want: []string{"approval.channel (", "nobody could ever approve"}},
		"channel, unknown":         {file: `{` + urls + `, "approval": {"channel": "email"}}`, want: []string{"approval.channel (", `"email" is not one of`}},
		"page only, negative":      {file: `{` + urls + `, "approval": {"pageOnlyAboveRows": -1}}`, want: []string{"approval.pageOnlyAboveRows (", "out of range"}},
		"size, negative":           {file: `{` + urls + `, "migration": {"maxPreviewBytes": -1}}`, want: []string{"migration.maxPreviewBytes (", "out of range"}},
		"tools, misspelt":          {file: `{` + urls + `, "tools": "readonyl"}`, want: []string{"tools (", `did you mean "readonly"?`}},
		"tools, misspelt, env":     {file: `{` + urls + `}`, env: "SW_TOOLS=-dld", want: []string{"tools (SW_TOOLS)", `"-dld"`}},
		"allowed tools, a group":   {file: `{` + urls + `}`, env: "SW_ALLOWED_TOOLS=query,rows", want: []string{"tools (SW_ALLOWED_TOOLS)", `"rows" is no tool's name`}},
		"PIN, not a hash":          {file: `{` + urls + `, "approvalServer": {"pinHash": "` + password + `"}}`, want: []string{"approvalServer.pinHash (", "settings.json", "not a line that `sw-postgres-mcp pin` prints"}},
		"PIN, hash too cheap":      {file: `{` + urls + `, "approvalServer": {"pinHash": "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$c3Vtc3Vtc3Vtc3Vtc3Vtc3Vt"}}`, want: []string{"approvalServer.pinHash (", "cost is too low"}},
		"PIN, a number":            {file: `{` + urls + `, "approvalServer": {"pinHash": 123456}}`, want: []string{"approvalServer.pinHash"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := setup(t, c.file, c.env).load()
			require.Error(t, err)
			for _, want := range c.want {
				require.Contains(t, err.Error(), want)
			}
			require.NotContains(t, err.Error(), password)
		})
	}
}

func TestWhichFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, caller string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(`{`+urls+`, "callerId": "`+caller+`"}`), 0o600))
		return path
	}
	env := map[string]string{"DATABASE_URL_READONLY": "postgres://r", "DATABASE_URL_WRITER": "postgres://w"}
	load := func(path string) (config.Config, config.Notes, error) {
		return config.Load(path, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	}

	cfg, notes, err := load("")
	require.NoError(t, err, "no file at all is a warning")
	require.Equal(t, "unknown", cfg.CallerID)
	require.Empty(t, notes.File)
	require.Contains(t, notes.Lines, "configuration file: none")
	require.Len(t, notes.Warnings, 1)
	require.Contains(t, notes.Warnings[0], filepath.Join(dir, "config.json"))
	require.Contains(t, notes.Warnings[0], "Nothing is writable")

	write("config.json", "default")
	cfg, notes, err = load("")
	require.NoError(t, err)
	require.Equal(t, "default", cfg.CallerID)
	require.True(t, filepath.IsAbs(notes.File))

	env["SW_POSTGRES_CONFIG"] = write("other.json", "variable")
	cfg, _, err = load("")
	require.NoError(t, err)
	require.Equal(t, "variable", cfg.CallerID)
	cfg, _, err = load(write("flag.json", "flag"))
	require.NoError(t, err)
	require.Equal(t, "flag", cfg.CallerID)

	// A file that was asked for must be there.
	_, _, err = load("missing.json")
	require.ErrorContains(t, err, "missing.json")
	require.ErrorIs(t, err, os.ErrNotExist)
	env["SW_POSTGRES_CONFIG"] = "gone.json"
	_, _, err = load("")
	require.ErrorContains(t, err, "gone.json")
	_, _, err = load(dir)
	require.ErrorContains(t, err, "it is a directory")
}

// The structure of the file, the table and the example are the same set of keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range config.Keys() {
		require.False(t, seen[k.Name], k.Name)
		seen[k.Name] = true
		require.NotEmpty(t, k.Default, k.Name)
	}
	require.Len(t, seen, 41)
	require.ElementsMatch(t, config.FileKeys(), keysOf(seen))

	example, err := os.ReadFile("../../config.example.json")
	require.NoError(t, err)
	cfg, notes, err := setup(t, string(example)).load()
	require.NoError(t, err)
	require.Empty(t, notes.Warnings)
	require.True(t, cfg.Allowlist.Write.Allows("public", "orders"))
}

func keysOf(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// Each key alone, at its default value, changes nothing: every leaf reaches its place.
func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	base, _, err := setup(t, `{`+urls+`}`).load()
	require.NoError(t, err)
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Name, "database.") {
			continue // beside the URLs; TestFile has them
		}
		value := k.Default
		if _, err := json.Marshal(json.RawMessage(value)); err != nil || value == `""` {
			value = fmt.Sprintf("%q", strings.Trim(value, `"`))
		}
		if k.Name == "approvalServer.pinHash" {
			value = `""`
		}
		parts := strings.Split(k.Name, ".")
		text := value
		for _, part := range slices.Backward(parts) {
			text = fmt.Sprintf(`{%q: %s}`, part, text)
		}
		cfg, _, err := setup(t, `{`+urls+`,`+strings.TrimPrefix(text, "{")).load()
		require.NoError(t, err, k.Name)
		switch k.Name {
		case "write.planTtlMs":
			cfg.Write.ApprovalTTL = base.Write.ApprovalTTL
		case "approvalServer.authToken":
			require.Equal(t, "generated", cfg.ApprovalServer.AuthToken)
			cfg.ApprovalServer.AuthToken = ""
		case "tools":
			require.Contains(t, cfg.ToolsFrom, "settings.json")
			cfg.ToolsFrom = ""
		case "query.allowFunctions":
			require.Empty(t, cfg.Query.AllowFunctions)
			cfg.Query.AllowFunctions = nil
		}
		require.True(t, reflect.DeepEqual(base, cfg), k.Name)
	}
}

// Secrets do not come out of a Config by any of the usual ways.
func TestS20SecretsStayIn(t *testing.T) {
	t.Parallel()
	cfg, notes, err := setup(t, `{`+urls+`, "approvalServer": {"authToken": "`+password+`"}}`).load()
	require.NoError(t, err)
	require.Contains(t, cfg.Database.WriterURL, password)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	jsonLogger := slog.New(slog.NewJSONHandler(&log, nil))
	for _, l := range []*slog.Logger{logger, jsonLogger} {
		l.Info("start", "config", cfg, "database", cfg.Database, "server", cfg.ApprovalServer, "pointer", &cfg)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		fmt.Fprintf(&log, verb+verb+verb+verb, cfg, &cfg, cfg.Database, cfg.ApprovalServer)
	}
	encoded, err := json.Marshal(cfg)
	require.NoError(t, err)
	log.Write(encoded)
	log.WriteString(strings.Join(append(notes.Lines, notes.Warnings...), "\n"))
	require.NotContains(t, log.String(), password)
	require.Contains(t, log.String(), "callerId")
	require.Contains(t, log.String(), "(set)")
}

func TestMisspeltVariables(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"environment variable SW_APPROVAL_TTLMS is not a setting; did you mean SW_APPROVAL_TTL_MS?",
		"environment variable SW_HARD_MAX_ROW is not a setting; did you mean SW_HARD_MAX_ROWS?",
	}, config.Misspelt([]string{
		"SW_HARD_MAX_ROW=5", "SW_APPROVAL_TTLMS=1", "SW_HARD_MAX_ROWS=5", "SW_POSTGRES_CONFIG=x", "SW_TEST_POSTGRES_URL=x", "SW_UNRELATED_THING_OF_OTHERS=1",
		"PATH=/bin", "HARD_MAX_ROW=5", "broken",
	}))
}

func shownTools(c config.Config) any {
	var out []string
	for _, r := range toolpolicy.Table() {
		if on, _ := c.Tools.Shows(r.Tool); on {
			out = append(out, r.Tool)
		}
	}
	return strings.Join(out, " ")
}

func TestRules(t *testing.T) {
	t.Parallel()
	cfg, _, err := setup(t, `{`+urls+`, "write": {"rules": [{"tables": ["app.payments", "*.ledger"], "operations": ["delete"], "deny": true},
		{"tables": ["app.*"], "requireApproval": "always", "approvalRequiredAboveRows": 0, "hardMaxRows": 50, "readonlyColumns": ["id"], "whereColumns": ["tenant_id"]}]}}`).load()
	require.NoError(t, err)
	require.Len(t, cfg.Write.Rules, 2)
	n, r := cfg.Write.Rules.For(toolpolicy.Delete, toolpolicy.Name{Schema: "x", Table: "ledger"})
	require.Equal(t, 1, n)
	require.True(t, r.Deny)
	n, r = cfg.Write.Rules.For(toolpolicy.Update, toolpolicy.Name{Schema: "app", Table: "payments"})
	require.Equal(t, 2, n)
	require.True(t, r.AlwaysAsk)
	require.EqualValues(t, 0, *r.ApprovalAbove)
	require.EqualValues(t, 50, *r.HardMax)
	require.Equal(t, []string{"id"}, r.ReadonlyColumns)
	require.Equal(t, []string{"tenant_id"}, r.WhereColumns)
}

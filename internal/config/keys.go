package config

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

// Key is one setting, for documents and their test.
type Key struct {
	Name    string
	Default string
	Env     []string // first one that is set wins
}

// Keys holds every setting, in the order of the contract. The slice is the caller's.
func Keys() []Key {
	out := make([]Key, 0, len(table))
	for _, k := range table {
		out = append(out, Key{Name: k.name, Default: k.shown(), Env: slices.DeleteFunc(append([]string{}, k.env...), func(e string) bool { return e == ToolsFlag })})
	}
	return out
}

// setting is a row of the one table that defaults, ranges, environment and documents come from.
type setting struct {
	name   string
	value  any // the default; its type is the setting's type
	env    []string
	min    int64
	max    int64    // of integers
	words  []string // of strings: the only ones allowed
	secret bool     // never shown
	show   string   // the default in words, where it is not the value
}

func (k setting) shown() string {
	switch v := k.value.(type) {
	case string:
		if k.show != "" || v == "" {
			return k.show
		}
		return v
	case int64, bool:
		return fmt.Sprint(v)
	default:
		return "[]"
	}
}

const (
	maxMillis = math.MaxInt32 // what Postgres takes for a timeout (manual, 20.11)
	maxRows   = 1_000_000_000
	maxBytes  = 1 << 30
)

var table = []setting{
	{name: "database.readonlyConnectionString", value: "", env: []string{"DATABASE_URL_READONLY", "POSTGRES_READONLY_URL"}, secret: true, show: "—"},
	{name: "database.writerConnectionString", value: "", env: []string{"DATABASE_URL_WRITER", "POSTGRES_WRITER_URL", "DATABASE_URL"}, secret: true, show: "—"},
	{name: "allowlist.read.schemas", value: []string(nil)},
	{name: "allowlist.read.tables", value: []string(nil)},
	{name: "allowlist.write.schemas", value: []string(nil)},
	{name: "allowlist.write.tables", value: []string(nil)},
	{name: "write.planTtlMs", value: int64(60_000), env: []string{"SW_PLAN_TTL_MS"}, min: 1, max: maxMillis},
	{name: "write.approvalTtlMs", value: int64(600_000), env: []string{"SW_APPROVAL_TTL_MS"}, min: 1, max: maxMillis},
	// 0 would switch a timeout off in Postgres; nothing here may run without one.
	{name: "write.statementTimeoutMs", value: int64(10_000), env: []string{"SW_STATEMENT_TIMEOUT_MS"}, min: 1, max: maxMillis},
	{name: "write.lockTimeoutMs", value: int64(3_000), env: []string{"SW_LOCK_TIMEOUT_MS"}, min: 1, max: maxMillis},
	{name: "write.executeWaitMs", value: int64(50_000), env: []string{"SW_EXECUTE_WAIT_MS"}, min: 0, max: maxMillis},
	{name: "write.approvalRequiredAboveRows", value: int64(100), env: []string{"SW_APPROVAL_REQUIRED_ABOVE_ROWS"}, min: 0, max: maxRows},
	{name: "write.hardMaxRows", value: int64(10_000), env: []string{"SW_HARD_MAX_ROWS"}, min: 1, max: maxRows},
	{name: "write.maxOpenPlans", value: int64(20), env: []string{"SW_MAX_OPEN_PLANS"}, min: 1, max: 10_000},
	{name: "write.rules", value: []rule(nil)},
	{name: "query.statementTimeoutMs", value: int64(10_000), env: []string{"SW_QUERY_STATEMENT_TIMEOUT_MS"}, min: 1, max: maxMillis},
	{name: "query.maxRows", value: int64(1_000), env: []string{"SW_QUERY_MAX_ROWS"}, min: 1, max: 1_000_000},
	{name: "query.maxBytes", value: int64(1 << 20), env: []string{"SW_QUERY_MAX_BYTES"}, min: 1, max: maxBytes},
	{name: "query.allowFunctions", value: []string(nil)},
	{name: "migration.previewLockMs", value: int64(2_000), min: 1, max: maxMillis},
	{name: "migration.maxPreviewBytes", value: int64(64 << 20), min: 0, max: math.MaxInt64},
	{name: "migration.previewsPerMinute", value: int64(6), min: 1, max: 1_000_000},
	{name: "approval.channel", value: ChannelPage, env: []string{"SW_APPROVAL_CHANNEL"}, words: []string{ChannelPage, ChannelElicitation, ChannelBoth}},
	{name: "approval.pageOnlyAboveRows", value: int64(1_000), min: 0, max: maxRows},
	{name: "approvalServer.enabled", value: true, env: []string{"SW_APPROVAL_SERVER_ENABLED"}},
	{name: "approvalServer.port", value: int64(4319), env: []string{"SW_APPROVAL_SERVER_PORT"}, min: 0, max: 65_535},
	{name: "approvalServer.requireAuth", value: true, env: []string{"SW_APPROVAL_SERVER_REQUIRE_AUTH"}},
	{name: "approvalServer.authToken", value: "", env: []string{"SW_APPROVAL_SERVER_AUTH_TOKEN"}, secret: true, show: "generated"},
	{
		name: "approvalServer.openBrowser", value: OpenBrowserAuto, env: []string{"SW_APPROVAL_SERVER_OPEN_BROWSER"},
		words: []string{OpenBrowserAuto, OpenBrowserAlways, OpenBrowserNever},
	},
	{name: "approvalServer.exposeRawPayload", value: false},
	{name: "approvalServer.confirmAboveRows", value: int64(1_000), min: 0, max: maxRows},
	{name: "approvalServer.pinHash", value: "", secret: true, show: "none"},
	{name: "database.migrationRole", value: "", show: "none"},
	{name: "database.allowPrivilegedRoles", value: false},
	// Two: a lost COMMIT is looked up while its own connection is still on its way out.
	{name: "database.maxConnections", value: int64(10), min: 2, max: 1_000},
	{name: "tools", value: "default", env: []string{allowedTools, "SW_TOOLS", ToolsFlag}},
	{name: "mask", value: []mask(nil)},
	{name: "audit.required", value: false, env: []string{"SW_AUDIT_REQUIRED"}},
	{name: "audit.reads", value: false, env: []string{"SW_AUDIT_READS"}},
	{name: "journal.path", value: "", env: []string{"SW_JOURNAL_PATH"}, show: `""`},
	{name: "callerId", value: "unknown", env: []string{"SW_CALLER_ID"}},
}

// ToolsFlag stands for the command line among the variables: whoever calls Load answers it from --tools.
const ToolsFlag = "--tools"

// allowedTools takes names of tools only, and shows nothing else.
const allowedTools = "SW_ALLOWED_TOOLS"

// file is the shape of the configuration file. Its leaves are the names of the table; a test
// compares the two.
type file struct {
	Database struct {
		ReadonlyConnectionString string `json:"readonlyConnectionString"`
		WriterConnectionString   string `json:"writerConnectionString"`
		MigrationRole            string `json:"migrationRole"`
		AllowPrivilegedRoles     bool   `json:"allowPrivilegedRoles"`
		MaxConnections           int64  `json:"maxConnections"`
	} `json:"database"`
	Allowlist struct {
		Read  names `json:"read"`
		Write names `json:"write"`
	} `json:"allowlist"`
	Write struct {
		PlanTTLMs                 int64  `json:"planTtlMs"`
		ApprovalTTLMs             int64  `json:"approvalTtlMs"`
		StatementTimeoutMs        int64  `json:"statementTimeoutMs"`
		LockTimeoutMs             int64  `json:"lockTimeoutMs"`
		ExecuteWaitMs             int64  `json:"executeWaitMs"`
		ApprovalRequiredAboveRows int64  `json:"approvalRequiredAboveRows"`
		HardMaxRows               int64  `json:"hardMaxRows"`
		MaxOpenPlans              int64  `json:"maxOpenPlans"`
		Rules                     []rule `json:"rules"`
	} `json:"write"`
	Query struct {
		StatementTimeoutMs int64    `json:"statementTimeoutMs"`
		MaxRows            int64    `json:"maxRows"`
		MaxBytes           int64    `json:"maxBytes"`
		AllowFunctions     []string `json:"allowFunctions"`
	} `json:"query"`
	Migration struct {
		PreviewLockMs     int64 `json:"previewLockMs"`
		MaxPreviewBytes   int64 `json:"maxPreviewBytes"`
		PreviewsPerMinute int64 `json:"previewsPerMinute"`
	} `json:"migration"`
	Approval struct {
		Channel           string `json:"channel"`
		PageOnlyAboveRows int64  `json:"pageOnlyAboveRows"`
	} `json:"approval"`
	ApprovalServer struct {
		Enabled          bool   `json:"enabled"`
		Port             int64  `json:"port"`
		RequireAuth      bool   `json:"requireAuth"`
		AuthToken        string `json:"authToken"`
		OpenBrowser      string `json:"openBrowser"`
		ExposeRawPayload bool   `json:"exposeRawPayload"`
		ConfirmAboveRows int64  `json:"confirmAboveRows"`
		PinHash          string `json:"pinHash"`
	} `json:"approvalServer"`
	Tools string `json:"tools"`
	Mask  []mask `json:"mask"`
	Audit struct {
		Required bool `json:"required"`
		Reads    bool `json:"reads"`
	} `json:"audit"`
	Journal struct {
		Path string `json:"path"`
	} `json:"journal"`
	CallerID string `json:"callerId"`
}

type names struct {
	Schemas []string `json:"schemas"`
	Tables  []string `json:"tables"`
}

// mask is one entry of the list; see masks.go.
type mask struct {
	Column string `json:"column" required:"true"`
	As     string `json:"as" required:"true"`
}

type rule struct {
	Tables                    []string `json:"tables" required:"true"`
	Operations                []string `json:"operations"`
	RequireApproval           string   `json:"requireApproval"`
	ApprovalRequiredAboveRows *int64   `json:"approvalRequiredAboveRows"`
	HardMaxRows               *int64   `json:"hardMaxRows"`
	Deny                      bool     `json:"deny"`
	ReadonlyColumns           []string `json:"readonlyColumns"`
	WhereColumns              []string `json:"whereColumns"`
}

// suggestion finds what an unknown key was meant to be, also when it stands in the wrong section.
func suggestion(full string) string {
	var all []string
	sections := map[string]bool{}
	for _, k := range table {
		all = append(all, k.name)
		for i := range k.name {
			if k.name[i] == '.' && !sections[k.name[:i]] {
				sections[k.name[:i]] = true
				all = append(all, k.name[:i])
			}
		}
	}
	last := lastPart(full)
	for _, name := range all {
		if lastPart(name) == last {
			return name
		}
	}
	if near := strictjson.Nearest(full, all); near != "" {
		return near
	}
	for _, name := range all {
		if strictjson.Nearest(last, []string{lastPart(name)}) != "" {
			return name
		}
	}
	return ""
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

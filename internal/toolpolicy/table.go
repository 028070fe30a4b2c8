package toolpolicy

// Tier is how far a tool reaches.
type Tier string

// The tiers. A tool without a row in the table is Unclassified: only its own name shows it.
const (
	Read         Tier = "read"
	Write        Tier = "write"
	DDL          Tier = "ddl"
	Unclassified Tier = "unclassified"
)

// Group is what a tool is for.
type Group string

// The groups.
const (
	Schema     Group = "schema"
	Query      Group = "query"
	Rows       Group = "rows"
	Migrations Group = "migrations"
	Plans      Group = "plans"
)

// Row is one tool's place.
type Row struct {
	Tool  string
	Group Group
	Tier  Tier
}

// GroupText is written for the person who decides whether to turn a group on.
type GroupText struct {
	Group    Group
	Label    string
	Sentence string
}

// table is the only place where a tool has its group and tier.
var table = []Row{
	{"describe_schema", Schema, Read},
	{"query", Query, Read},
	{"explain_plan", Query, Read},
	{"delete_rows", Rows, Write},
	{"insert_rows", Rows, Write},
	{"update_rows", Rows, Write},
	{"run_migration", Migrations, DDL},
	{"execute_plan", Plans, Write},
}

var groups = []GroupText{
	{Schema, "Schema", "Lets the agent see which tables and columns there are; it sees no rows."},
	{Query, "Queries", "Lets the agent read rows with a role that cannot write, within the read allowlist and the row and time limits."},
	{Rows, "Changes of rows", "Lets the agent propose inserting, updating and deleting rows; nothing is changed before execute_plan, and large changes wait for a person."},
	{Migrations, "Migrations", "Lets the agent propose changes of tables, indexes and views; each of them waits for a person."},
	{Plans, "Executing plans", "Lets the agent commit what was previewed and, where a person must decide, approved. Without it nothing is ever changed."},
}

// Table is a copy of the table, in the order in which tools are listed.
func Table() []Row { return append([]Row(nil), table...) }

// Groups is what the groups are called and what turning one on means.
func Groups() []GroupText { return append([]GroupText(nil), groups...) }

// Of is a tool's row; a tool that has none is Unclassified and in no group.
func Of(tool string) Row {
	for _, r := range table {
		if r.Tool == tool {
			return r
		}
	}
	return Row{Tool: tool, Tier: Unclassified}
}

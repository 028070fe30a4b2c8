package writecore

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

//go:embed sql/sizes.sql
var sizesSQL string

//go:embed sql/users.sql
var usersSQL string

// adviceBytes is the size from which on a rewrite or scan is worth a recipe: below it nobody notices.
const adviceBytes = 8 << 20

// recipes say how to get the same without working through the table under a strong lock (manual, ALTER
// TABLE, Notes; CREATE INDEX, Building Indexes Concurrently).
var recipes = map[sqlguard.Heavy]string{
	sqlguard.HeavyType:       "Add a column of the new type, fill it in batches with update_rows, move its users over, and drop the old one.",
	sqlguard.HeavyDefault:    "Add the column without the default, set the default in a second migration, and fill the old rows in batches with update_rows.",
	sqlguard.HeavyNotNull:    "Add CHECK (column IS NOT NULL) NOT VALID, VALIDATE it in a second migration (that blocks no writes), then SET NOT NULL, which then scans nothing.",
	sqlguard.HeavyCheck:      "Add the CHECK as NOT VALID, and VALIDATE CONSTRAINT in a second migration: that blocks no writes.",
	sqlguard.HeavyForeignKey: "Add the foreign key as NOT VALID, and VALIDATE CONSTRAINT in a second migration: that blocks no writes.",
	sqlguard.HeavyUnique:     "Ask the database owner to CREATE UNIQUE INDEX CONCURRENTLY, which no preview can run, then ADD CONSTRAINT … USING INDEX.",
	sqlguard.HeavyIndex:      "Ask the database owner to CREATE INDEX CONCURRENTLY: it blocks no writes, and it cannot run in a transaction, so no preview can show it.",
	sqlguard.HeavyPartition:  "Give the partition a CHECK constraint that implies its bounds first (NOT VALID, then VALIDATE): attaching then scans nothing.",
	sqlguard.HeavyDefaultOf:  "Give the default partition a CHECK constraint first (NOT VALID, then VALIDATE) that excludes the new partition's rows: it is then not scanned.",
	sqlguard.HeavyDomain:     "Add the column with the domain's base type and the constraint as NOT VALID, and VALIDATE it in a second migration.",
	sqlguard.HeavyStorage:    "Ask the database owner for a quiet hour: there is no way around rewriting it.",
	sqlguard.HeavyValidate:   "Validating blocks no writes; ask the database owner to run it, or raise migration.maxPreviewBytes.",
}

// sizesStep measures the tables that the migration may work through; limit < 0 is no limit.
func sizesStep(st *sqlguard.Statement, limit int64, m string) (wire.Step, bool) {
	var tables, parents, typed []uint32
	types := []string{}
	for _, h := range st.DDL().Heavy {
		switch {
		case h.Kind == sqlguard.HeavyDefaultOf:
			parents = append(parents, h.Table.OID)
		case h.Kind == sqlguard.HeavyDomain:
			typed, types = append(typed, h.Table.OID), append(types, h.Type)
		case !slices.Contains(tables, h.Table.OID):
			tables = append(tables, h.Table.OID)
		}
	}
	if len(tables)+len(parents)+len(typed) == 0 {
		return wire.Step{}, false
	}
	return wire.Step{SQL: sizesSQL, Params: [][]byte{
		wire.OIDArray(tables), strconv.AppendInt(nil, limit, 10), text(m), wire.OIDArray(parents), wire.OIDArray(typed), wire.TextArray(types),
	}}, true
}

// tooLarge is the refusal of a rehearsal that would hold its lock for long: found is "oid bytes".
func (w *TwoPhaseWrite) tooLarge(st *sqlguard.Statement, found string) error {
	oid, bytes, _ := strings.Cut(found, " ")
	size, _ := strconv.ParseInt(bytes, 10, 64)
	name, hints := "A table", []string{}
	for _, h := range st.DDL().Heavy {
		if strconv.FormatUint(uint64(h.Table.OID), 10) == oid {
			name = h.Table.String()
			if !slices.Contains(hints, recipes[h.Kind]) {
				hints = append(hints, recipes[h.Kind])
			}
		}
	}
	return refusal.New(refusal.MigrationTooLarge,
		fmt.Sprintf("%s has %s, and this migration may rewrite or scan all of it under its lock; a preview does so only up to migration.maxPreviewBytes (%s). Nothing was run.",
			name, megabytes(size), megabytes(w.o.MaxPreviewBytes)),
		strings.Join(hints, " "))
}

func megabytes(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return digits(n>>20) + " MB"
}

// usersStep looks for functions that hold the names which go: renamed or dropped columns and relations.
func usersStep(st *sqlguard.Statement) (wire.Step, bool) {
	names := goingNames(st)
	if len(names) == 0 {
		return wire.Step{}, false
	}
	return wire.Step{SQL: usersSQL, Params: [][]byte{wire.TextArray(names)}}, true
}

func goingNames(st *sqlguard.Statement) []string {
	var out []string
	for _, r := range st.DDL().Renames {
		out = append(out, nameOf(r.Column, r.Relation.Name))
	}
	for _, d := range st.DDL().Drops {
		if d.Type == "column" {
			out = append(out, d.Column)
		}
	}
	return out
}

func nameOf(column, relation string) string {
	if column != "" {
		return column
	}
	return relation
}

// advice says what the facts mean where they matter, and how to get the same in another way.
func advice(st *sqlguard.Statement, f plan.Facts, sc *script, reply wire.Reply) []plan.Warning {
	var out []plan.Warning
	sizes, _ := sc.Result(reply, "sizes")
	size := map[string]int64{}
	for i := range sizes.Rows {
		n, _ := strconv.ParseInt(cell(sizes, i, 1), 10, 64)
		size[cell(sizes, i, 0)] = n
	}
	recipe := map[string][]string{} // by table
	for _, h := range st.DDL().Heavy {
		name := h.Table.String()
		if size[strconv.FormatUint(uint64(h.Table.OID), 10)] >= adviceBytes && !slices.Contains(recipe[name], recipes[h.Kind]) {
			recipe[name] = append(recipe[name], recipes[h.Kind])
		}
	}
	say := func(code, fact string, recipes []string) {
		safer := strings.Join(recipes, " ")
		out = append(out, plan.Warning{Code: code, Message: strings.TrimSpace(fact + " " + safer), Safer: safer})
	}
	for _, r := range f.Rewrites {
		say(plan.WarnRewritesTable, r+" is rewritten.", recipe[r])
	}
	for _, r := range f.Scans {
		if len(recipe[r]) > 0 && !slices.Contains(f.Rewrites, r) {
			say(plan.WarnScansTable, r+" is read from end to end under the migration's lock.", recipe[r])
		}
	}
	return append(out, nameWarnings(st, sc, reply)...)
}

// nameWarnings says who uses a name that goes: code that no catalog knows of breaks with COMMIT.
func nameWarnings(st *sqlguard.Statement, sc *script, reply wire.Reply) []plan.Warning {
	users, _ := sc.Result(reply, "users")
	by := map[string][]string{}
	for i := range users.Rows {
		by[cell(users, i, 1)] = append(by[cell(users, i, 1)], cell(users, i, 0))
	}
	found := func(name string) string {
		list := by[name]
		if len(list) == 0 {
			return ""
		}
		if len(list) > 5 {
			list = append(slices.Clone(list[:5]), "and more")
		}
		return " Functions whose text holds the name: " + strings.Join(list, ", ") + "."
	}
	var out []plan.Warning
	for _, r := range st.DDL().Renames {
		name := nameOf(r.Column, r.Relation.Name)
		if r.Relation.Kind == 'i' || r.Relation.Kind == 'I' {
			continue // nothing names an index
		}
		out = append(out, plan.Warning{Code: plan.WarnNameInUse, Message: fmt.Sprintf(
			"Whatever uses the name %s breaks the moment this is committed; views and keys follow, functions and programs do not.%s %s",
			sqlguard.QuoteIdent(name), found(name), renameRecipe(r))})
	}
	for _, d := range st.DDL().Drops {
		if who := found(d.Column); d.Type == "column" && who != "" {
			out = append(out, plan.Warning{Code: plan.WarnNameInUse, Message: "The column " + sqlguard.QuoteIdent(d.Column) + " is still used." + who})
		}
	}
	return out
}

func renameRecipe(r sqlguard.Rename) string {
	if r.Column != "" {
		return "To be safe add the new column, keep both in step, move its users over, and drop the old one."
	}
	return "To be safe leave a view of the old name behind until nothing uses it any more."
}

// rehearsalsPerMinute bounds how often strong locks are taken for migrations that nobody has approved.
const rehearsalsPerMinute = 6

// rehearsals holds when the last ones began.
type rehearsals struct{ began []time.Time }

// room tells whether another may run, or how long not. Callers come one at a time.
func (r *rehearsals) room(now time.Time, perMinute int) (wait time.Duration, ok bool) {
	r.began = slices.DeleteFunc(r.began, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if len(r.began) >= perMinute {
		return time.Minute - now.Sub(r.began[0]), false
	}
	return 0, true
}

// add notes one that ran.
func (r *rehearsals) add(began time.Time) { r.began = append(r.began, began) }

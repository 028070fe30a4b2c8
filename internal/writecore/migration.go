package writecore

import (
	"context"
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

//go:embed sql/relations.sql
var relationsSQL string

//go:embed sql/columns.sql
var columnsSQL string

//go:embed sql/objects.sql
var objectsSQL string

//go:embed sql/sources.sql
var sourcesSQL string

//go:embed sql/pin_path.sql
var pinPathSQL string

//go:embed sql/unreadable.sql
var unreadableSQL string

//go:embed sql/locks.sql
var locksSQL string

//go:embed sql/named.sql
var namedSQL string

//go:embed sql/definitions.sql
var definitionsSQL string

// migrationLock is the lock_timeout of a rehearsal and of a migration's execute at most: whoever
// queues for a strong lock makes everybody behind it wait.
const migrationLock = time.Second

// existing are the OIDs of the relations that a DDL statement names and that exist.
func existing(st *sqlguard.Statement) []uint32 {
	seen := map[uint32]bool{}
	var out []uint32
	d := st.DDL()
	for _, list := range [][]sqlguard.Target{d.Writes, d.Reads} {
		for _, t := range list {
			if t.OID != 0 && !seen[t.OID] {
				seen[t.OID] = true
				out = append(out, t.OID)
			}
		}
	}
	return out
}

// migrationSteps are the statement's own steps, at rehearsal and at execute alike: what the guard relied
// upon is asserted, the names are made to mean what they mean to the guard whatever role runs them, and
// what the statement does is measured. DDL cannot stand in a CTE, so the parser stands alone before it;
// the locks and the transaction status behind it are the second look.
//
// limit bounds the size of what may be rewritten or scanned; negative is no limit: what a person has
// approved may take its time.
func (w *TwoPhaseWrite) migrationSteps(sc *script, st *sqlguard.Statement, limit int64, m string) {
	oids := wire.OIDArray(existing(st))
	relations := wire.Step{SQL: relationsSQL, Params: [][]byte{oids}}
	columns := wire.Step{SQL: columnsSQL, Params: [][]byte{oids, strconv.AppendBool(nil, st.DDL().Cascade)}}
	sc.lock = migrationLock
	sc.Add("lock timeout", wire.Step{
		SQL:    "SELECT pg_catalog.set_config('lock_timeout', $1::text, true)",
		Params: [][]byte{strconv.AppendInt(nil, min(migrationLock, w.o.LockTimeout).Milliseconds(), 10)},
	})
	sc.Add("facts", wire.AssertFacts(st.Facts(), m))
	if s, ok := w.sourcesStep(st, m); ok {
		sc.Add("sources", s)
	}
	// "$user" in the search path is another schema for another role.
	sc.Add("path", step(pinPathSQL))
	if w.o.MigrationRole != "" {
		sc.Add("role", step("SET LOCAL ROLE "+sqlguard.QuoteIdent(w.o.MigrationRole)))
	}
	sc.Add("state", step(stateSQL))
	if s, ok := sizesStep(st, limit, m); ok {
		sc.Add("sizes", s)
	}
	if s, ok := usersStep(st); ok {
		sc.Add("users", s)
	}
	for _, l := range holdStill(st) {
		sc.Add("hold", l)
	}
	sc.Add("values", valuesStep(st, w.o.MaxPreviewBytes)) // before the counters of scans are read
	sc.Add("definitions", definitions(st))
	if w.o.Limits.deniesMigrations() {
		sc.Add("kin", step(kinSQL))
	}
	sc.Add("relations", relations)
	sc.Add("objects", step(objectsSQL))
	sc.Add("columns", columns)
	sc.Add("clock", step(clockSQL))
	sc.Add("run", step(st.SQL()))
	sc.Add("clock after", step(clockSQL))
	sc.Add("named", wire.Step{SQL: namedSQL, Params: [][]byte{wire.OIDArray(written(st)), text(m)}})
	runDeferred(sc)
	sc.Add("locks", step(locksSQL))
	sc.Add("relations after", relations)
	if w.o.Limits.deniesMigrations() {
		sc.Add("kin after", step(kinSQL))
	}
	sc.Add("objects after", step(objectsSQL))
	sc.Add("columns after", columns)
	sc.Add("unreadable", w.unreadableStep())
	sc.Add("state after", step(stateSQL))
}

// holdStill locks the tables that something is dropped from or that are dropped, as the statement itself
// will, before their values are counted: what is counted is then what is lost. What inherits from them is locked
// with them only where its values go too: a lock down there is a change of it to a rule ([Limits.migrated]). A
// statistics object is no reason: dropping it takes a weaker lock.
func holdStill(st *sqlguard.Statement) []wire.Step {
	drops := st.DDL().Drops
	if !slices.ContainsFunc(drops, func(d sqlguard.DropName) bool { return d.Type != "statistics" }) {
		return nil
	}
	down := slices.ContainsFunc(drops, func(d sqlguard.DropName) bool { return d.Column == "" || d.Type == "column" }) && !st.DDL().Only
	var out []wire.Step
	for _, t := range st.DDL().Writes {
		if t.OID == 0 || t.Kind != 'r' && t.Kind != 'p' {
			continue
		}
		table := t.String()
		if !down {
			table = "ONLY " + table
		}
		out = append(out, step("LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE"))
	}
	return out
}

// written are the OIDs of the existing relations that the text writes.
func written(st *sqlguard.Statement) []uint32 {
	var out []uint32
	for _, t := range st.DDL().Writes {
		if t.OID != 0 {
			out = append(out, t.OID)
		}
	}
	return out
}

// definitions reads one hash per relation and type that the statement names.
func definitions(st *sqlguard.Statement) wire.Step {
	types := make([]uint32, len(st.DDL().Types))
	for i, t := range st.DDL().Types {
		types[i] = t.OID
	}
	return wire.Step{SQL: definitionsSQL, Params: [][]byte{wire.OIDArray(existing(st)), wire.OIDArray(types)}}
}

// compareMigration holds what the migration did in the open transaction against what was rehearsed and
// approved: the same definitions before it, and nothing more dropped, lost or rewritten by it.
func (w *TwoPhaseWrite) compareMigration(p plan.Plan, st *sqlguard.Statement, sc *script, reply wire.Reply) error {
	if err := compareDefinitions(p, sc, reply); err != nil {
		return err
	}
	if err := w.o.Limits.migrated(st, sc, reply); err != nil {
		return err
	}
	now, err := w.migrationFacts(sc, reply, true) // nothing of it is shown
	if err != nil {
		return err
	}
	var approved plan.Facts
	if p.Facts != nil {
		approved = *p.Facts
	}
	for _, d := range now.Drops {
		if !slices.Contains(approved.Drops, d) {
			return rowsetChanged("the " + d.Type + " " + d.Name + " would be dropped now, too")
		}
	}
	for _, r := range now.Rewrites {
		if !slices.Contains(approved.Rewrites, r) {
			return rowsetChanged(r + " would be rewritten now, too")
		}
	}
	for _, l := range now.Lost {
		was := slices.IndexFunc(approved.Lost, func(a plan.Lost) bool { return a.Relation == l.Relation && a.Column == l.Column })
		if was < 0 || approved.Lost[was].NonNullValues >= 0 && approved.Lost[was].NonNullValues < l.NonNullValues {
			return rowsetChanged(fmt.Sprintf("%s values of %s.%s would be lost now, more than were rehearsed", digits(l.NonNullValues), l.Relation, l.Column))
		}
	}
	for name, n := range now.RowsLost {
		if n > approved.RowsLost[name] {
			return rowsetChanged(fmt.Sprintf("%s held %s rows when it was rehearsed, %s now", name, digits(approved.RowsLost[name]), digits(n)))
		}
	}
	return nil
}

func compareDefinitions(p plan.Plan, sc *script, reply wire.Reply) error {
	defs, _ := sc.Result(reply, "definitions")
	if now := definitionsDigest(defs); now != p.RowsDigest {
		return refusal.New(refusal.RowsetChanged,
			"The definition of "+definitionsDifference(p.RowsDigest, defs)+" is no longer the one that was previewed. Nothing was changed.",
			"Preview the migration again.")
	}
	return nil
}

// definitionsDigest is "oid:hash oid:hash …".
func definitionsDigest(r wire.Result) string {
	parts := make([]string, len(r.Rows))
	for i := range r.Rows {
		parts[i] = cell(r, i, 0) + ":" + cell(r, i, 3)
	}
	return strings.Join(parts, " ")
}

func definitionsDifference(was string, now wire.Result) string {
	had := map[string]bool{}
	for p := range strings.FieldsSeq(was) {
		had[p] = true
	}
	for i := range now.Rows {
		if !had[cell(now, i, 0)+":"+cell(now, i, 3)] {
			return sqlguard.QuoteName(cell(now, i, 1), cell(now, i, 2))
		}
	}
	return "a relation it names"
}

// previewMigration rehearses a DDL statement and measures what it did. One rehearsal at a time: it
// takes the same locks as the real run.
func (w *TwoPhaseWrite) previewMigration(ctx context.Context, s Session, st *sqlguard.Statement, pv plan.Preview) (plan.Preview, bool, error) {
	select {
	case w.ddl <- struct{}{}:
		defer func() { <-w.ddl }()
	default:
		return pv, false, refusal.New(refusal.MigrationBusy, "Another migration is being rehearsed.", "Try again in a few seconds.")
	}
	if wait, ok := w.rehearsed.room(time.Now(), w.o.RehearsalsPerMinute); !ok {
		return pv, false, refusal.New(refusal.MigrationBusy,
			fmt.Sprintf("%d migrations were rehearsed within the last minute, and each takes strong locks.", w.o.RehearsalsPerMinute),
			fmt.Sprintf("Wait %d s, then preview again.", int(wait.Seconds())+1))
	}
	m := wire.NewMark()
	sc := script{timeout: rehearseTimeout}
	sc.begin(false)
	sc.Add("settings", settings(s, w.o.PreviewLock, w.o.LockTimeout, m))
	w.migrationSteps(&sc, st, w.o.MaxPreviewBytes, m)
	began := time.Now()
	reply, err := w.send(ctx, s, &sc, true)
	if err != nil || reply.Err == nil || sc.reached(reply, "values") { // from there on it holds locks; a connection that was lost may have
		w.rehearsed.add(began)
	}
	if err != nil {
		return pv, false, err
	}
	if reply.Err != nil {
		return pv, false, w.explainFailure(ctx, st, &sc, reply, m)
	}
	if err := sameState(s, &sc, reply); err != nil {
		return pv, false, err
	}
	defs, _ := sc.Result(reply, "definitions")
	pv.RowsDigest = definitionsDigest(defs)
	pv.SampleRows, pv.Changes = []plan.Row{}, []plan.Change{}
	pv.Target = migrationTarget(st)
	if err := w.o.Limits.migrated(st, &sc, reply); err != nil {
		return pv, false, err
	}
	facts, err := w.migrationFacts(&sc, reply, st.Masking())
	if err != nil {
		return pv, false, err
	}
	pv.Facts = &facts
	pv.Warnings = w.migrationWarnings(st, facts, &sc, reply)
	d := w.o.Limits.Decide(Measured{Class: sqlguard.DDL})
	pv.Why = d.Why
	pv.Work = &work{statement: st}
	return pv, d.NeedsApproval, nil
}

const clockSQL = "SELECT extract(epoch FROM pg_catalog.clock_timestamp()) * 1000"

func migrationTarget(st *sqlguard.Statement) string {
	d := st.DDL()
	for _, list := range [][]sqlguard.Target{d.Writes, d.Creates, d.Reads} {
		if len(list) > 0 {
			return list[0].String()
		}
	}
	return ""
}

// maxCounted bounds the counting of rows that a dropped table takes with it.
const maxCounted = 1_000_000

// valuesStep counts, before the statement and in its transaction, the non-null values of the columns that
// the text names for dropping, and (under the column "*", up to maxCounted + 1) the rows of the tables.
//
// Columns of tables larger than limit are not counted (-1): that would read the whole table under the lock.
// Rows of a plain table are its own, not those of inheritance children, which stay.
func valuesStep(st *sqlguard.Statement, limit int64) wire.Step {
	var parts []string
	for _, d := range st.DDL().Drops {
		for _, t := range st.DDL().Writes {
			if t.OID == 0 || t.String() != d.Relation {
				continue
			}
			switch {
			case d.Column != "" && d.Type == "column" && (t.Kind == 'r' || t.Kind == 'p'):
				from := t.String()
				if st.DDL().Only {
					from = only(t)
				}
				parts = append(parts, fmt.Sprintf("SELECT %s::text, %s::text, CASE WHEN %s > %d THEN -1 ELSE (SELECT pg_catalog.count(%s) FROM %s) END",
					quoteLiteral(t.String()), quoteLiteral(d.Column), sizeOf(t), limit, sqlguard.QuoteIdent(d.Column), from))
			case d.Column == "" && (t.Kind == 'r' || t.Kind == 'p'):
				parts = append(parts, fmt.Sprintf("SELECT %s::text, '*'::text, (SELECT pg_catalog.count(*) FROM (SELECT 1 FROM %s LIMIT %d) sw_r)",
					quoteLiteral(t.String()), only(t), maxCounted+1))
			}
		}
	}
	if len(parts) == 0 {
		return step("SELECT NULL::text, NULL::text, 0::bigint WHERE false")
	}
	return step(strings.Join(parts, " UNION ALL "))
}

// only names a table's own rows; a partitioned table has none of its own.
func only(t sqlguard.Target) string {
	if t.Kind == 'p' {
		return t.String()
	}
	return "ONLY " + t.String()
}

// sizeOf is the size of a table with everything below it.
func sizeOf(t sqlguard.Target) string {
	if t.Kind == 'p' {
		return fmt.Sprintf("(SELECT COALESCE(pg_catalog.sum(pg_catalog.pg_table_size(relid)), 0) FROM pg_catalog.pg_partition_tree(%d))", t.OID)
	}
	return fmt.Sprintf("pg_catalog.pg_table_size(%d)", t.OID)
}

// readsRows are the forms that take rows of their sources along.
var readsRows = map[string]bool{"CREATE TABLE AS": true, "CREATE VIEW": true, "CREATE MATERIALIZED VIEW": true}

// sourcesStep insists that the readonly role may itself read what the migration reads: the role it runs as
// may read more, and neither the result nor an error about a value is a way around that. See
// TestMigrationSourcesAreReadable.
func (w *TwoPhaseWrite) sourcesStep(st *sqlguard.Statement, m string) (wire.Step, bool) {
	var oids []uint32
	for _, t := range st.DDL().Reads {
		if t.OID != 0 {
			oids = append(oids, t.OID)
		}
	}
	if len(oids) == 0 || w.o.ReadonlyRole == "" {
		return wire.Step{}, false
	}
	return wire.Step{SQL: sourcesSQL, Params: [][]byte{
		wire.OIDArray(oids), text(w.o.ReadonlyRole), text(m), strconv.AppendBool(nil, readsRows[st.DDL().Form]),
	}}, true
}

// quoteLiteral makes a string constant (manual, 4.1.2.1), independent of standard_conforming_strings.
func quoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + q
	}
	return q
}

// unreadableStep lists tables and views outside the system's schemas that the readonly role may not read.
func (w *TwoPhaseWrite) unreadableStep() wire.Step {
	return wire.Step{
		SQL:    unreadableSQL,
		Params: [][]byte{text(w.o.ReadonlyRole)},
	}
}

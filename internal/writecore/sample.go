package writecore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// maxCell is how many bytes of one value a sample shows; the rest never leaves the server. A row of a
// hundred megabytes must not cost the connection, and no person reads it.
const maxCell = 64 << 10

// maxTargets keeps the samples' column lists below what Postgres takes (1664; manual, appendix K).
const maxTargets = 1600

// pairing says how before and after of an UPDATE are matched.
type pairing int

const (
	noPairs   pairing = iota
	byKey             // the key is not in SET: join the changed rows to the statement's own snapshot
	byVersion         // no key, or the key is in SET: join by (tableoid, ctid) inside the statement
)

func pairingOf(st *sqlguard.Statement) pairing {
	t := st.Target()
	if st.Class() != sqlguard.Update || len(t.Columns) == 0 {
		return noPairs
	}
	if len(t.PrimaryKey) > 0 && !slices.ContainsFunc(t.PrimaryKey, func(k string) bool { return slices.Contains(st.SetColumns(), k) }) {
		return byKey
	}
	if hasRowVersions(t) {
		return byVersion
	}
	return noPairs
}

const cteHead = "WITH sw_m AS ("

// shape says what the columns of a run's result are: column 0 is the count, then the new (for DELETE, the
// old) values of columns, then the old values of those at the positions in old, and last what was left
// out for its size.
type shape struct {
	columns []sqlguard.Column
	old     []int
	pairs   pairing
	masks   masker // nil: nothing is masked
}

// shapeOf chooses the columns of the sample: all of names, and, where rows are paired, the old value of
// each. A table too wide for that shows the old values of the key and of what the statement sets.
func shapeOf(st *sqlguard.Statement, names []string, pairs pairing) shape {
	t := st.Target()
	sh := shape{pairs: pairs, masks: maskerOf(st)}
	for _, c := range t.Columns {
		if slices.Contains(names, c.Name) {
			sh.columns = append(sh.columns, c)
		}
	}
	if pairs == noPairs {
		return sh
	}
	all := 2*len(sh.columns)+2 <= maxTargets
	for i, c := range sh.columns {
		if all || slices.Contains(t.PrimaryKey, c.Name) || slices.Contains(st.SetColumns(), c.Name) {
			sh.old = append(sh.old, i)
		}
	}
	return sh
}

// run is the statement itself, inside a CTE: there COMMIT, ROLLBACK and a closing bracket are syntax
// errors to Postgres too. Result: one row (see shape) per sample row, or a single one whose sample
// columns are null.
func run(st *sqlguard.Statement, params [][]byte, names []string) (wire.Step, shape) {
	t := st.Target()
	sh := shapeOf(st, names, pairingOf(st))
	if len(sh.columns) == 0 {
		return runCounting(st, params), sh
	}
	order := keyPositions(t, sh.columns)
	self := sqlguard.QuoteIdent(t.Name)
	head, join := st.SQL(), ""
	var returning []string
	for i, c := range sh.columns {
		returning = append(returning, fmt.Sprintf("%s.%s AS sw_n%d", self, sqlguard.QuoteIdent(c.Name), i+1))
	}
	oldRef := func(i int) string { return "sw_o." + sqlguard.QuoteIdent(sh.columns[i].Name) }
	rank := "sw_n"
	switch sh.pairs {
	case byVersion:
		head = besideItself(st)
		for _, i := range sh.old {
			returning = append(returning, fmt.Sprintf("(sw_o.sw_r).%s AS sw_p%d", sqlguard.QuoteIdent(sh.columns[i].Name), i+1))
		}
		oldRef = func(i int) string { return "sw_s.sw_p" + strconv.Itoa(i+1) }
		rank = "sw_p"
	case byKey:
		conds := make([]string, len(order))
		for k, i := range order {
			conds[k] = fmt.Sprintf("sw_o.%s = sw_s.sw_n%d", sqlguard.QuoteIdent(sh.columns[i].Name), i+1)
		}
		join = " LEFT JOIN " + sqlguard.QuoteName(t.Schema, t.Name) + " sw_o ON " + strings.Join(conds, " AND ")
	case noPairs:
	}
	if st.Class() == sqlguard.Insert {
		order = nil // as they come
	}
	cells, cuts := []string{"(SELECT pg_catalog.count(*) FROM sw_m)"}, []string{}
	take := func(ref, label string, c sqlguard.Column) {
		cell, cut := bounded(ref, label, c)
		cells = append(cells, cell)
		if cut != "" {
			cuts = append(cuts, cut)
		}
	}
	for i, c := range sh.columns {
		take("sw_s.sw_n"+strconv.Itoa(i+1), "n"+strconv.Itoa(i), c)
	}
	for _, i := range sh.old {
		take(oldRef(i), "p"+strconv.Itoa(i), sh.columns[i])
	}
	sql := fmt.Sprintf("%s%s\nRETURNING %s), sw_s AS MATERIALIZED (SELECT * FROM sw_m%s LIMIT %d)\nSELECT %s, %s FROM (SELECT 1) sw_one LEFT JOIN sw_s ON true%s%s",
		cteHead, head, strings.Join(returning, ", "), orderBy(order, rank), sampleRows,
		strings.Join(cells, ", "), cutList(cuts), join, orderBy(order, "sw_s."+rank))
	return wire.Step{SQL: sql, Params: params, PrefixRunes: len(cteHead)}, sh
}

// besideItself joins the target to itself by row version, inside the UPDATE, so that old values are at
// hand when there is no key or the key changes. The agent's unqualified columns stay unambiguous, since
// the other side shows only names that no table here has.
func besideItself(st *sqlguard.Statement) string {
	t := st.Target()
	self := sqlguard.QuoteIdent(t.Name)
	head := st.SQL()
	cond := fmt.Sprintf("sw_o.sw_c = %s.ctid AND sw_o.sw_t = %s.tableoid", self, self)
	if w := st.Where(); w != "" {
		head = strings.TrimSuffix(head, " WHERE "+w)
		cond += " AND (" + w + ")"
	}
	return fmt.Sprintf("%s FROM (SELECT ctid AS sw_c, tableoid AS sw_t, sw_r FROM %s sw_r) sw_o WHERE %s",
		head, sqlguard.QuoteName(t.Schema, t.Name), cond)
}

// Types whose values are never longer than maxCell, by pg_type.oid: they need no look at their length.
var shortTypes = []uint32{16, 18, 19, 20, 21, 23, 26, 700, 701, 790, 829, 869, 650, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950}

// bounded is a value, or NULL where it is longer than maxCell; cut tells, for such a value, which one it
// is, how long, and its hash (so that before and after can still be told apart).
func bounded(ref, label string, c sqlguard.Column) (cell, cut string) {
	if slices.Contains(shortTypes, c.TypeOID) {
		return ref, ""
	}
	size, hash := "pg_catalog.octet_length("+ref+"::text)", "pg_catalog.md5("+ref+"::text)"
	switch c.TypeOID {
	case 25, 1043, 1042: // text, varchar, bpchar: the length is known without reading the value
		size = "pg_catalog.octet_length(" + ref + ")"
	case 17: // bytea, printed as two digits a byte
		size, hash = "2 * pg_catalog.octet_length("+ref+")", "pg_catalog.md5("+ref+")"
	}
	long := fmt.Sprintf("%s > %d", size, maxCell)
	return fmt.Sprintf("CASE WHEN %s THEN NULL ELSE %s END", long, ref),
		fmt.Sprintf("CASE WHEN %s THEN '%s:' || %s || ':' || %s END", long, label, size, hash)
}

// cutList is one column of text; Postgres takes at most 100 arguments a call.
func cutList(cuts []string) string {
	if len(cuts) == 0 {
		return "''"
	}
	var parts []string
	for chunk := range slices.Chunk(cuts, 90) {
		parts = append(parts, "pg_catalog.concat_ws(' ', "+strings.Join(chunk, ", ")+")")
	}
	return strings.Join(parts, " || ' ' || ")
}

// cutsOf reads a cutList: by label, the length and hash of what was left out.
func cutsOf(text string) map[string]cutValue {
	out := map[string]cutValue{}
	for f := range strings.FieldsSeq(text) {
		parts := strings.Split(f, ":")
		if len(parts) == 3 {
			out[parts[0]] = cutValue{size: parts[1], hash: parts[2]}
		}
	}
	return out
}

type cutValue struct{ size, hash string }

// shown is what stands in place of a value that was left out, as JSON.
func (c cutValue) shown() []byte { return []byte(`"… (` + c.size + ` bytes)"`) }

// keyPositions are the indexes in columns of the primary key's columns, or nil.
func keyPositions(t sqlguard.Relation, columns []sqlguard.Column) []int {
	var out []int
	for _, k := range t.PrimaryKey {
		if i := slices.IndexFunc(columns, func(c sqlguard.Column) bool { return c.Name == k }); i >= 0 {
			out = append(out, i)
		}
	}
	if len(out) != len(t.PrimaryKey) {
		return nil
	}
	return out
}

func orderBy(positions []int, prefix string) string {
	if len(positions) == 0 {
		return ""
	}
	parts := make([]string, len(positions))
	for i, p := range positions {
		parts[i] = prefix + strconv.Itoa(p+1)
	}
	return " ORDER BY " + strings.Join(parts, ", ")
}

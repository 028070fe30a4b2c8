package tests

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

//go:embed world.sql
var worldSQL string

//go:embed snapshot.sql
var snapshotSQL string

// world is a fresh database with the schema of world.sql.
func world(t testing.TB, opts ...pgtemp.Option) *pgtemp.DB {
	t.Helper()
	db := pgtemp.New(t, opts...)
	db.Exec(t, worldSQL)
	return db
}

// snapshot is everything that a preview must leave as it was: the data of every table with the
// version of each row, the definitions, the grants. Left out: the audit table's rows, and the
// positions of sequences, which advance on a preview (documented).
func snapshot(t testing.TB, db *pgtemp.DB) string {
	t.Helper()
	var b strings.Builder
	tables := db.Query(t, `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.oid <> 'mcp_audit.log'::regclass ORDER BY 1`)
	require.NotEmpty(t, tables)
	for _, row := range tables {
		for _, data := range db.Query(t, fmt.Sprintf(
			`SELECT count(*), md5(coalesce(string_agg(x.ctid::text || x.xmin::text || x::text, E'\n' ORDER BY x.ctid), '')) FROM %s x`, row[0])) {
			fmt.Fprintf(&b, "%s: %s rows, %s\n", row[0], data[0], data[1])
		}
	}
	for _, row := range db.Query(t, snapshotSQL) {
		b.WriteString(strings.Join(row, " ") + "\n")
	}
	return b.String()
}

// dump is what pg_dump says of the database: a second opinion, by other people's code. Empty where
// there is no pg_dump that knows the server's version (the packages from npm have none).
func dump(t testing.TB, db *pgtemp.DB) string {
	t.Helper()
	out, ok := db.Dump(t, "--exclude-table-data", "mcp_audit.log")
	if !ok {
		return ""
	}
	require.Contains(t, out, "CREATE TABLE app.parent", "the dump does not hold what it should")
	var kept []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "SELECT pg_catalog.setval(") { // the documented exception
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// audit is the trail, oldest first: tool, status, error_code, plan_token, preview_rows, actual_rows, approved_by.
func audit(t testing.TB, db *pgtemp.DB) [][]string {
	t.Helper()
	return db.Query(t, "SELECT tool, status, coalesce(error_code, ''), coalesce(plan_token, ''), coalesce(preview_rows::text, ''), coalesce(actual_rows::text, ''), coalesce(approved_by, '') FROM mcp_audit.log ORDER BY id")
}

// executedRows counts the executed rows of one token, of all when it is empty.
func executedRows(t testing.TB, db *pgtemp.DB, token string) int {
	t.Helper()
	n, err := strconv.Atoi(db.Query(t, "SELECT count(*) FROM mcp_audit.log WHERE status = 'executed' AND ($1 = '' OR plan_token = $1)", token)[0][0])
	require.NoError(t, err)
	return n
}

// number runs a query that gives one number.
func number(t testing.TB, db *pgtemp.DB, sql string, args ...any) int {
	t.Helper()
	n, err := strconv.Atoi(db.Query(t, sql, args...)[0][0])
	require.NoError(t, err)
	return n
}

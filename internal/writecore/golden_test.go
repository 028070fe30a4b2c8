package writecore_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

var update = flag.Bool("update", false, "write testdata/*.golden.sql anew")

// TestGoldenSQL shows the SQL that is generated around the agent's text, so that a change of it is a visible diff.
func TestGoldenSQL(t *testing.T) {
	t.Parallel()
	b := setup(t, `CREATE TABLE t (id bigint PRIMARY KEY, name text, "Odd col" int); CREATE TABLE nokey (a int, b jsonb); CREATE VIEW seen AS SELECT id, name FROM t;`)
	cat := b.pools.Writer().Catalog()
	set := func(c, v string) []sqlguard.SetValue { return []sqlguard.SetValue{{Column: c, Value: raws(v)[0]}} }
	made := func(st *sqlguard.Statement, err error) *sqlguard.Statement {
		require.NoError(t, err)
		return st
	}
	for name, st := range map[string]*sqlguard.Statement{
		"delete":            made(b.guard.Delete(b.ctx, cat, sqlguard.DeleteSpec{Table: "app.t", Where: "id = $1", Params: raws("1")})),
		"update_by_key":     made(b.guard.Update(b.ctx, cat, sqlguard.UpdateSpec{Table: "app.t", Set: set("name", `"x"`), Where: "id = $1", Params: raws("1")})),
		"update_of_the_key": made(b.guard.Update(b.ctx, cat, sqlguard.UpdateSpec{Table: "app.t", Set: set("id", "7"), Where: "id = $1", Params: raws("1")})),
		"update_no_key":     made(b.guard.Update(b.ctx, cat, sqlguard.UpdateSpec{Table: "app.nokey", Set: set("a", "7"), Where: "a = 1"})),
		"update_view":       made(b.guard.Update(b.ctx, cat, sqlguard.UpdateSpec{Table: "app.seen", Set: set("name", "null"), Where: "id = 1"})),
		"insert":            made(b.guard.Insert(b.ctx, cat, sqlguard.InsertSpec{Table: "app.t", Columns: []string{"id"}, Rows: [][]json.RawMessage{raws("1")}})),
	} {
		probe, run := writecore.GeneratedSQL(st, 10_000)
		got := "-- the agent's part: " + st.SQL() + "\n\n-- probe\n" + probe + "\n\n-- run\n" + run + "\n"
		file := filepath.Join("testdata", name+".golden.sql")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err, "make it: go test ./internal/writecore -run TestGoldenSQL -update")
		require.Equal(t, string(want), got)
	}
}

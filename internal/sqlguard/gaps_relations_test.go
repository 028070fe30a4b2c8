package sqlguard_test

import (
	_ "embed"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

//go:embed gaps_relations.sql
var relationsSQL string

// Every relation of the system's own schemas stands in the table: never readable, readable without an
// allowlist, or readable always. The guard answers so for the name and for a text that reads it.
func TestEverySystemRelationIsClassified(t *testing.T) {
	t.Parallel()
	s := newServer(t, "CREATE SCHEMA app; CREATE TABLE app.t (id int); CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA app")
	want := map[string]string{}
	raw, err := os.ReadFile("testdata/relations.txt")
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		class, names, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		require.Contains(t, []string{"never", "open", "always"}, class)
		for name := range strings.FieldsSeq(names) {
			require.Empty(t, want[name], "%s stands there twice", name)
			want[name] = class
		}
	}
	open, tight := sqlguard.New(sqlguard.Policy{}), sqlguard.New(policyOf(t, []string{"app.t"}, nil, nil))
	schemas, err := sqlguard.ParseAllowlist([]string{"pg_catalog", "information_schema", "app"}, nil)
	require.NoError(t, err)
	listed := sqlguard.New(sqlguard.Policy{Read: schemas})
	var unknown []string
	rows := s.pg.Query(t, relationsSQL)
	require.Greater(t, len(rows), 180)
	var q sqlguard.Lookup
	for _, row := range rows {
		schema, name, _ := strings.Cut(row[0], ".")
		q.Relations = append(q.Relations, sqlguard.Name{Schema: schema, Name: name})
	}
	_, err = s.Readonly().Catalog().Lookup(t.Context(), q, false)
	require.NoError(t, err)
	for i, row := range rows {
		n := q.Relations[i]
		may := []bool{open.CanRead(n.Schema, n.Name), tight.CanRead(n.Schema, n.Name), listed.CanRead(n.Schema, n.Name)}
		got := map[[3]bool]string{{false, false, false}: "never", {true, false, true}: "open", {true, true, true}: "always"}[[3]bool(may)]
		require.NotEmpty(t, got, "%s: %v", row[0], may)
		if want[row[0]] == "" {
			unknown = append(unknown, got+": "+row[0])
			continue
		}
		require.Equal(t, want[row[0]], got, row[0])
		delete(want, row[0])
		for g, ok := range map[*sqlguard.Guard]bool{open: may[0], tight: may[1], listed: may[2]} {
			_, err := g.Read(t.Context(), s.Readonly().Catalog(), "SELECT * FROM "+n.String(), nil)
			if ok {
				require.NoError(t, err, row[0])
			} else {
				requireRefused(t, refusal.TableNotAllowlisted, err, row[0])
			}
		}
	}
	if v := s.pg.Query(t, "SELECT current_setting('server_version_num')::int / 10000")[0][0]; v != "15" {
		t.Logf("not in the table, of Postgres %s: %s", v, strings.Join(unknown, "; "))
	} else {
		require.Empty(t, unknown, "classify these in testdata/relations.txt")
		require.Empty(t, want, "these do not exist")
	}

	// What an extension adds, in whatever schema, and what belongs to a session or to storage.
	for _, name := range []string{"pg_stat_statements", "pg_stat_statements_info"} {
		_, err := listed.Read(t.Context(), s.Readonly().Catalog(), "SELECT * FROM app."+name, nil)
		requireRefused(t, refusal.TableNotAllowlisted, err, name)
	}
	for _, schema := range []string{"pg_toast", "pg_temp_3", "pg_toast_temp_3"} {
		require.False(t, open.CanRead(schema, "x"), schema)
	}
	require.False(t, open.CanRead("mcp_audit", "log"), "only when listed by name")
}

package sqlguard_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// A table is read with those that inherit from it, so each must be readable, or ONLY stands before it.
// Partitions belong to their table.
func TestChildrenOfAReadableTable(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
		CREATE SCHEMA app; CREATE SCHEMA hid; GRANT USAGE ON SCHEMA app, hid TO readonly, writer;
		CREATE TABLE app.par (id int, v text); CREATE TABLE hid.child () INHERITS (app.par); CREATE TABLE app.mid () INHERITS (app.par); CREATE TABLE app.plain (id int);
		CREATE TABLE app.far (id int); CREATE TABLE app.far1 () INHERITS (app.far); CREATE TABLE hid.far2 () INHERITS (app.far1);
		CREATE TABLE app.kin (id int); CREATE TABLE app.kin1 () INHERITS (app.kin);
		CREATE TABLE app.parts (id int) PARTITION BY RANGE (id); CREATE TABLE hid.part PARTITION OF app.parts FOR VALUES FROM (0) TO (9);
		INSERT INTO hid.child VALUES (1, 'HUSH'); INSERT INTO app.parts VALUES (1);
		CREATE VIEW app.v AS SELECT v FROM app.par;
		GRANT ALL ON ALL TABLES IN SCHEMA app, hid TO readonly, writer`)
	read, err := sqlguard.ParseAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	write, err := sqlguard.ParseWriteAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	tight, open := sqlguard.New(sqlguard.Policy{Read: read, Write: write}), sqlguard.New(sqlguard.Policy{})
	for _, sql := range []string{
		"SELECT * FROM app.par", "TABLE app.par", "SELECT * FROM app.par *", "SELECT * FROM app.far", "SELECT * FROM app.far1", "SELECT 1 FROM app.plain WHERE EXISTS (SELECT FROM app.par)",
		"WITH x AS (SELECT * FROM app.par) TABLE x", "SELECT * FROM ONLY app.par UNION ALL SELECT * FROM app.par", "SELECT * FROM app.plain JOIN app.par USING (id)",
		"WITH par AS (SELECT 1) SELECT * FROM app.par", "SELECT * FROM app.par TABLESAMPLE SYSTEM (100)",
	} {
		_, err := s.read(t, open, sql)
		require.NoError(t, err, sql)
		_, err = s.read(t, tight, sql)
		e := refused(t, refusal.TableNotAllowlisted, err, sql)
		require.Contains(t, e.Hint, "ONLY", sql)
		require.NotContains(t, e.Message+e.Hint, "hid", sql)
	}
	for _, sql := range []string{
		"SELECT * FROM ONLY app.par", "SELECT * FROM ONLY (app.par)", "SELECT * FROM ONLY app.far, ONLY app.far1", "SELECT * FROM app.mid", "SELECT * FROM app.kin", "SELECT * FROM app.parts", "SELECT * FROM app.plain",
		"SELECT * FROM app.v", // a view stands by its own name
	} {
		r, err := s.read(t, tight, sql)
		require.NoError(t, err, sql)
		if sql != "SELECT * FROM app.v" {
			for _, row := range r.Rows {
				require.NotContains(t, string(row[len(row)-1]), "HUSH", sql)
			}
		}
	}
	_, err = tight.Delete(t.Context(), s.Writer().Catalog(), sqlguard.DeleteSpec{Table: "app.plain", Where: "id IN (SELECT id FROM app.par)"})
	requireRefused(t, refusal.TableNotAllowlisted, err, "where")

	// A child that was made, or went elsewhere, since the guard looked is found before anything runs.
	for _, change := range []string{"CREATE TABLE hid.late () INHERITS (app.kin)", "ALTER TABLE app.kin1 SET SCHEMA hid", "ALTER TABLE app.kin1 RENAME TO kin3"} {
		st, err := tight.Read(t.Context(), s.Readonly().Catalog(), "SELECT * FROM app.kin", nil)
		require.NoError(t, err)
		s.pg.Exec(t, change)
		_, err = s.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
		require.ErrorIs(t, err, wire.ErrStaleCatalog, change)
		if change != "ALTER TABLE app.kin1 RENAME TO kin3" {
			_, err = s.read(t, tight, "SELECT * FROM app.kin")
			requireRefused(t, refusal.TableNotAllowlisted, err, change)
		}
		s.pg.Exec(t, "DROP TABLE IF EXISTS hid.late; ALTER TABLE IF EXISTS hid.kin1 SET SCHEMA app")
		_, err = s.Readonly().Catalog().Lookup(t.Context(), sqlguard.Lookup{Relations: []sqlguard.Name{{Schema: "app", Name: "kin"}}}, true)
		require.NoError(t, err)
	}
}

// update_rows and delete_rows show rows and ask them by their where: what they change must be readable.
// insert_rows shows what it was given.
func TestWritesThatReadNeedTheReadAllowlist(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
		CREATE SCHEMA app; CREATE SCHEMA hid; GRANT USAGE ON SCHEMA app, hid TO readonly, writer;
		CREATE TABLE app.t (id int, v text); CREATE TABLE hid.t (id int, v text); CREATE VIEW hid.v AS SELECT * FROM app.t;
		GRANT ALL ON ALL TABLES IN SCHEMA app, hid TO readonly, writer`)
	guard := sqlguard.New(policyOf(t, []string{"app.t"}, []string{"app", "hid"}, nil))
	open := sqlguard.New(policyOf(t, nil, []string{"app", "hid"}, nil))
	cat := s.Writer().Catalog()
	value := json.RawMessage(`"1"`)
	calls := func(g *sqlguard.Guard, table string) map[string]error {
		out := map[string]error{}
		_, out["delete"] = g.Delete(t.Context(), cat, sqlguard.DeleteSpec{Table: table, Where: "v ~ '^a'"})
		_, out["delete all"] = g.Delete(t.Context(), cat, sqlguard.DeleteSpec{Table: table, ConfirmFullTable: true})
		_, out["update"] = g.Update(t.Context(), cat, sqlguard.UpdateSpec{Table: table, Where: "id = 1", Set: []sqlguard.SetValue{{Column: "v", Value: value}}})
		_, out["delete again"] = g.Again(t.Context(), cat, "DELETE FROM "+table+" WHERE id = 1", nil)
		_, out["update again"] = g.Again(t.Context(), cat, "UPDATE "+table+" SET v = $1 WHERE id = 1", []json.RawMessage{value})
		return out
	}
	for _, table := range []string{"hid.t", "hid.v"} {
		for what, err := range calls(guard, table) {
			e := refused(t, refusal.TableNotAllowlisted, err, what)
			require.Contains(t, e.Hint, "allowlist.read", what)
		}
		for what, err := range calls(open, table) {
			require.NoError(t, err, what)
		}
		_, err := guard.Insert(t.Context(), cat, sqlguard.InsertSpec{Table: table, Columns: []string{"v"}, Rows: [][]json.RawMessage{{value}}})
		require.NoError(t, err, table)
	}
	for what, err := range calls(guard, "app.t") {
		require.NoError(t, err, what)
	}
}

package tests

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// S03: what is given back to execute_plan must be what was previewed; what runs is what was stored.
func TestS03WhatCommitsIsWhatWasPreviewed(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		db := world(t)
		s := start(t, db, options{})
		p, other := s.preview(r.tool, r.write.args(1)), s.preview(r.tool, r.write.args(2))
		if p.Status == "awaiting_approval" {
			s.approve(p.Token)
			s.approve(other.Token)
		}
		before := snapshot(t, db)
		for _, changed := range []args{
			{"statement": p.Statement + " OR true"},
			{"statement": p.Statement + "; COMMIT"},
			{"statement": p.Statement + " --"},
			{"statement": "/**/" + p.Statement},
			{"statement": "DELETE FROM app.item"},
			{"statement": ""},
			{"statement": other.Statement, "params": append(other.Params, json.RawMessage("1"))},
			{"params": append(append([]json.RawMessage{}, p.Params...), json.RawMessage("1"))},
			{"fingerprint": other.Fingerprint},
			{"fingerprint": "x"},
			{"fingerprint": other.Fingerprint, "params": nil},
			{"plan_token": other.Token, "fingerprint": p.Fingerprint},
		} {
			echo := p.echo()
			for k, v := range changed {
				if v == nil {
					delete(echo, k)
					continue
				}
				echo[k] = v
			}
			s.call("execute_plan", echo).refused(t, refusal.StatementMismatch)
			require.Equal(t, before, snapshot(t, db), "%v", changed)
		}
		if r.tool != "run_migration" {
			echo := other.echo()
			echo["plan_token"] = p.Token
			s.call("execute_plan", echo).refused(t, refusal.StatementMismatch)
		}
		// A mismatch costs the plan nothing, and white space around the statement is no difference.
		echo := p.echo()
		echo["statement"] = "\n\t " + p.Statement + "\n "
		s.call("execute_plan", echo).ok(t, nil)
		require.True(t, r.write.done(t, db, 1))
		require.False(t, r.write.done(t, db, 2))
		// The fingerprint may stand in for the params.
		s.call("execute_plan", args{"plan_token": other.Token, "statement": other.Statement, "fingerprint": other.Fingerprint}).ok(t, nil)
		require.True(t, r.write.done(t, db, 2))
	})
}

// S03, for values: numbers are compared exactly and by value, and never as strings; the keys of an
// object have no order, the params do.
func TestS03ParamsAreComparedExactly(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{config: map[string]any{"write": map[string]any{"maxOpenPlans": 10000}}})
	raw := func(values ...string) []json.RawMessage {
		out := []json.RawMessage{}
		for _, v := range values {
			out = append(out, json.RawMessage(v))
		}
		return out
	}
	type echoes struct{ previewed, same, different []string }
	for i, e := range []echoes{
		{[]string{`9007199254740993`}, []string{`9007199254740993`, `"9007199254740993"`}, []string{`9007199254740992`, `"9007199254740992"`, `9007199254740994`, `9.007199254740993e15x`}},
		{[]string{`"9007199254740993"`}, []string{`9007199254740993`}, []string{`9007199254740992`, `"9007199254740992"`}},
		{[]string{`1`}, []string{`1.0`, `1e0`, `10e-1`, `1`}, []string{`"1"`, `2`, `true`, `null`, `1.0000000000000000001`, `[1]`}},
		{[]string{`"1"`}, []string{`"1"`}, []string{`1`, `"1.0"`, `" 1"`, `"01"`}},
	} {
		for j, list := range [][]string{e.different, e.same} {
			for k, v := range list {
				if !json.Valid([]byte(v)) {
					continue
				}
				name := fmt.Sprintf("exact %d %d %d", i, j, k)
				p := s.preview("insert_rows", args{
					"table": "app.item", "columns": []any{"name", "qty"},
					"rows": []any{append([]json.RawMessage{json.RawMessage(fmt.Sprintf("%q", name))}, raw(e.previewed...)...)}, "reason": "t",
				})
				echo := p.echo()
				echo["params"] = append(raw(fmt.Sprintf("%q", name)), raw(v)...)
				got := s.call("execute_plan", echo)
				if j == 0 {
					got.refused(t, refusal.StatementMismatch)
					require.Zero(t, number(t, db, "SELECT count(*) FROM app.item WHERE name = $1", name), "%v against %s", e.previewed, v)
					continue
				}
				got.ok(t, nil)
				want := map[bool]string{true: "9007199254740993", false: "1"}[i < 2]
				require.Equal(t, [][]string{{want}}, db.Query(t, "SELECT qty FROM app.item WHERE name = $1", name), "%v against %s", e.previewed, v)
			}
		}
	}
	object := s.preview("insert_rows", args{
		"table": "app.item", "columns": []any{"name", "doc"},
		"rows": json.RawMessage(`[["doc", {"a": 1, "b": {"c": [1, 2], "d": null}}]]`), "reason": "t",
	})
	for _, different := range []string{`{"a":1,"b":{"c":[2,1],"d":null}}`, `{"a":1,"b":{"c":[1,2]}}`, `{"a":"1","b":{"c":[1,2],"d":null}}`, `"{\"a\":1}"`} {
		echo := object.echo()
		echo["params"] = raw(`"doc"`, different)
		s.call("execute_plan", echo).refused(t, refusal.StatementMismatch)
	}
	echo := object.echo()
	echo["params"] = raw(`{"b":{"d":null,"c":[1.0,2]},"a":1}`, `"doc"`)
	s.call("execute_plan", echo).refused(t, refusal.StatementMismatch) // the params changed places
	echo["params"] = raw(`"doc"`, `{"b":{"d":null,"c":[1.0,2]},"a":1}`)
	s.call("execute_plan", echo).ok(t, nil)

	// Two params that only change places.
	p := s.preview("update_rows", args{"table": "app.item", "set": args{"qty": 2}, "where": "id = $1", "params": []any{1}, "reason": "t"})
	require.Len(t, p.Params, 2)
	echo = p.echo()
	echo["params"] = []json.RawMessage{p.Params[1], p.Params[0]}
	s.call("execute_plan", echo).refused(t, refusal.StatementMismatch)
	s.execute(p)
}

// S04, by way of the binary: between preview and execute the world changes.
func TestS04TheRowsAreThoseThatWereApproved(t *testing.T) {
	t.Parallel()
	const where = "grp = 3" // 30 rows
	deleting := args{"table": "app.parent", "where": where, "reason": "t"}
	updating := args{"table": "app.parent", "set": args{"note": "new"}, "where": where, "reason": "t"}
	inserting := args{"table": "app.audited", "columns": []any{"id"}, "rows": []any{[]any{1000}}, "reason": "t"}
	migrating := args{"statement": "ALTER TABLE app.parent ADD COLUMN extra integer", "reason": "t"}
	const (
		enters   = "UPDATE app.parent SET grp = 3 WHERE id = 1"
		leaves   = "UPDATE app.parent SET grp = 4 WHERE id = 3"
		changes  = "UPDATE app.parent SET name = 'other' WHERE id = 3"
		replaced = "UPDATE app.parent SET grp = 4 WHERE id = 3; UPDATE app.parent SET grp = 3 WHERE id = 1"
		gone     = "DELETE FROM app.parent WHERE id = 3"
		child    = "INSERT INTO app.child (parent_id) VALUES (3)"
		trigger  = "CREATE TRIGGER more AFTER INSERT ON app.audited FOR EACH ROW EXECUTE FUNCTION app.note_change()"
		column   = "ALTER TABLE app.parent ADD COLUMN drift integer"
		rule     = "ALTER TABLE app.parent ADD CONSTRAINT drift CHECK (id > 0)"
		order    = "CREATE INDEX other_order ON app.parent (grp, id DESC); ANALYZE app.parent"
	)
	for _, c := range []struct {
		name, tool string
		args       args
		between    string
		passes     bool
	}{
		{"delete, a row enters", "delete_rows", deleting, enters, false},
		{"delete, a row leaves", "delete_rows", deleting, leaves, false},
		{"delete, a row changes", "delete_rows", deleting, changes, false},
		{"delete, a row is replaced", "delete_rows", deleting, replaced, false},
		{"delete, a row is gone", "delete_rows", deleting, gone, false},
		{"delete, a child row appears", "delete_rows", deleting, child, false},
		{"delete, only the order changes", "delete_rows", deleting, order, true},
		{"update, a row enters", "update_rows", updating, enters, false},
		{"update, a row leaves", "update_rows", updating, leaves, false},
		{"update, a row changes", "update_rows", updating, changes, false},
		{"update, a row is replaced", "update_rows", updating, replaced, false},
		{"update, a child row appears", "update_rows", updating, child, true}, // an update does not reach it
		{"insert, a trigger multiplies it", "insert_rows", inserting, trigger, false},
		{"insert, rows elsewhere change", "insert_rows", inserting, changes, true},
		{"migration, a column appears", "run_migration", migrating, column, false},
		{"migration, a constraint appears", "run_migration", migrating, rule, false},
		{"migration, rows change", "run_migration", migrating, changes, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			s := start(t, db, options{config: map[string]any{"write": map[string]any{"approvalRequiredAboveRows": 1000}}})
			p := s.preview(c.tool, c.args)
			if p.Status == "awaiting_approval" {
				s.approve(p.Token)
			}
			db.Exec(t, c.between)
			before := snapshot(t, db)
			if c.passes {
				s.execute(p)
				require.NotEqual(t, before, snapshot(t, db))
				require.Equal(t, 1, executedRows(t, db, p.Token))
				return
			}
			s.call("execute_plan", p.echo()).refused(t, refusal.RowsetChanged)
			require.Equal(t, before, snapshot(t, db))
			require.Zero(t, executedRows(t, db, p.Token))
			// It is over: not even when the world is as it was.
			s.call("execute_plan", p.echo()).refused(t, refusal.RowsetChanged, refusal.SupersededPlan, refusal.UsedToken, refusal.ExpiredToken)
		})
	}
}

// S05, S06, by way of the binary: every row that a cascade reaches counts, and there is a wall.
func TestS05ACascadeCounts(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, worldSQL)
	db.Exec(t, "INSERT INTO app.parent (id, name) VALUES (1000, 'big'); INSERT INTO app.child (parent_id) SELECT 1000 FROM generate_series(1, 10000)")
	s := start(t, db, options{})
	before := snapshot(t, db)
	r := s.call("delete_rows", args{"table": "app.parent", "where": "id = $1", "params": []any{1000}, "reason": "t"})
	r.refused(t, refusal.HardMaxRowsExceeded)
	require.NotContains(t, string(r.text), "plan_token")
	require.Empty(t, s.waiting())
	require.Equal(t, before, snapshot(t, db))
	require.Equal(t, [][]string{{"delete_rows", "hard_cap_refused", "HARD_MAX_ROWS_EXCEEDED"}}, db.Query(t, "SELECT tool, status, error_code FROM mcp_audit.log"))
}

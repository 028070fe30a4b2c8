package writecore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

const shopSQL = `
CREATE TABLE parent (id bigint PRIMARY KEY, name text, n int NOT NULL DEFAULT 0);
CREATE TABLE child (id bigint PRIMARY KEY, parent_id bigint NOT NULL REFERENCES parent ON DELETE CASCADE);
CREATE TABLE grandchild (id bigint PRIMARY KEY, child_id bigint NOT NULL REFERENCES child ON DELETE CASCADE);
INSERT INTO parent SELECT g, 'p' || g FROM generate_series(1, 5) g;
INSERT INTO child SELECT g, (g - 1) / 40 + 1 FROM generate_series(1, 200) g;
INSERT INTO grandchild SELECT g, (g - 1) / 2 + 1 FROM generate_series(1, 400) g;`

// TestDeleteCountsTheCascade: RETURNING alone says 1; the blast radius says 121, and that is what decides.
func TestDeleteCountsTheCascade(t *testing.T) {
	t.Parallel()
	b := setup(t, shopSQL)
	r, err := b.delete("app.parent", "id = $1", "1")
	require.NoError(t, err)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	require.NotEmpty(t, r.ApprovalURL)
	require.EqualValues(t, 1, r.Plan.AffectedRows)
	require.EqualValues(t, 121, r.Plan.BlastRadius.TotalRows)
	var got []string
	for _, x := range r.Plan.BlastRadius.Tables {
		got = append(got, fmt.Sprintf("%s %d/%d/%d named=%v why=%s", x.Name, x.Inserted, x.Updated, x.Deleted, x.Named, x.Why))
	}
	require.Equal(t, []string{
		"app.parent 0/0/1 named=true why=",
		"app.grandchild 0/0/80 named=false why=foreign key",
		"app.child 0/0/40 named=false why=foreign key",
	}, got)
	require.Empty(t, r.Plan.BlastRadius.Unknown)
	require.Equal(t, `[{"id":"1","name":"p1","n":0}]`, str(r.Plan.SampleRows))
	require.Equal(t, "5/200/400", b.one(`SELECT concat_ws('/', (SELECT count(*) FROM app.parent), (SELECT count(*) FROM app.child), (SELECT count(*) FROM app.grandchild))`))

	b.approve(r)
	out, err := b.execute(r)
	require.NoError(t, err)
	require.EqualValues(t, 1, out.AffectedRows)
	require.EqualValues(t, 121, out.BlastRadius.TotalRows)
	require.Equal(t, "4/160/320", b.one(`SELECT concat_ws('/', (SELECT count(*) FROM app.parent), (SELECT count(*) FROM app.child), (SELECT count(*) FROM app.grandchild))`))
	require.Equal(t, [][]string{
		{"delete_rows", "awaiting_approval", "", "unknown"},
		{"approve_plan", "approved", "", "tester"},
		{"delete_rows", "executed", "", "tester"},
	}, b.trail("coalesce(error_code, '')", "coalesce(approved_by, 'unknown')"))
}

// trail is tool, status and the given expressions of every audit row, in order.
func (b *bundle) trail(exprs ...string) [][]string {
	b.t.Helper()
	return b.db.Query(b.t, "SELECT "+strings.Join(append([]string{"tool", "status"}, exprs...), ", ")+" FROM mcp_audit.log ORDER BY id")
}

// TestS04TheRowsAreThoseThatWereApproved: between preview and execute the world moves.
func TestS04TheRowsAreThoseThatWereApproved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ move, says string }{
		"a row enters":                     {"INSERT INTO app.parent VALUES (50, 'p1')", "1 rows matched when it was previewed, 2 now"},
		"a row leaves":                     {"UPDATE app.parent SET name = 'x' WHERE id = 1", "1 rows matched when it was previewed, 0 now"},
		"a row changes value":              {"UPDATE app.parent SET n = 7 WHERE id = 1", "changed or replaced"},
		"a row is updated to the same":     {"UPDATE app.parent SET n = n WHERE id = 1", "changed or replaced"},
		"a row is replaced by another":     {"DELETE FROM app.parent WHERE id = 1; INSERT INTO app.parent VALUES (60, 'p1')", "changed or replaced"},
		"a child appears under a cascade":  {"INSERT INTO app.child VALUES (1000, 1)", "app.child: 40 rows when it was previewed, 41 now"},
		"a grandchild leaves the cascade":  {"DELETE FROM app.grandchild WHERE id = 1", "app.grandchild: 80 rows when it was previewed, 79 now"},
		"the cascade moves to other table": {"DELETE FROM app.grandchild WHERE id IN (1, 2); INSERT INTO app.child VALUES (1000, 1), (1001, 1)", "app.grandchild: 80 rows when it was previewed, 78 now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, shopSQL)
			r, err := b.delete("app.parent", "name = $1", `"p1"`)
			require.NoError(t, err)
			b.approve(r)
			b.db.Exec(t, c.move)
			before := b.one("SELECT count(*) FROM app.child")
			_, err = b.execute(r)
			refused := requireCode(t, err, refusal.RowsetChanged)
			require.Contains(t, refused, c.says)
			require.Equal(t, before, b.one("SELECT count(*) FROM app.child"))
			_, err = b.execute(r)
			requireCode(t, err, refusal.RowsetChanged) // it stays over
			require.Equal(t, "0", b.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'executed'"))
		})
	}
	t.Run("only the order changes", func(t *testing.T) {
		t.Parallel()
		b := setup(t, shopSQL+"CREATE INDEX ON parent (name)")
		r, err := b.delete("app.parent", "name = $1", `"p1"`)
		require.NoError(t, err)
		b.approve(r)
		b.db.Exec(t, "UPDATE app.parent SET n = 1 WHERE id = 2; ANALYZE app.parent")
		b.db.Exec(t, "VACUUM app.child")
		_, err = b.execute(r)
		require.NoError(t, err)
	})
}

// TestS05ThresholdsSeeEveryChangedRow: rows changed by others than the statement itself count, or the
// radius is unknown and a person decides.
func TestS05ThresholdsSeeEveryChangedRow(t *testing.T) {
	t.Parallel()
	const base = `CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
		CREATE TABLE side (id bigint GENERATED ALWAYS AS IDENTITY, v int);`
	trigger := func(timing, body string) string {
		return base + `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN ` + body + ` RETURN NEW; END $$;` + timing
	}
	for name, c := range map[string]struct {
		sql     string
		total   int64
		state   plan.State
		unknown string
	}{
		"a trigger that writes 500 rows elsewhere": {
			sql:   trigger("CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();", "INSERT INTO app.side (v) SELECT generate_series(1, 500);"),
			total: 501, state: plan.AwaitingApproval,
		},
		"a deferred constraint trigger": {
			sql:   trigger("CREATE CONSTRAINT TRIGGER g AFTER UPDATE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f();", "INSERT INTO app.side (v) SELECT generate_series(1, 500);"),
			total: 501, state: plan.AwaitingApproval,
		},
		"TRUNCATE in a trigger": {
			sql:   trigger("CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();", "TRUNCATE app.side;"),
			total: 1, state: plan.AwaitingApproval, unknown: "app.side",
		},
		"a temporary table in a trigger": {
			sql:   trigger("CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();", "CREATE TEMP TABLE x AS SELECT 1;"),
			total: -1, state: plan.AwaitingApproval, unknown: "temporary table x",
		},
		"a small trigger": {
			sql:   trigger("CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();", "INSERT INTO app.side (v) VALUES (1);"),
			total: 2, state: plan.Previewed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.sql)
			for range 2 { // counters of the first preview must not leak into the second
				r, err := b.update("app.t", []sqlguard.SetValue{{Column: "v", Value: json.RawMessage("9")}}, nil, "id = 1")
				require.NoError(t, err)
				require.Equal(t, c.state, r.Plan.State)
				if c.total >= 0 {
					require.Equal(t, c.total, r.Plan.BlastRadius.TotalRows)
				}
				require.Contains(t, strings.Join(r.Plan.BlastRadius.Unknown, ";"), c.unknown)
			}
		})
	}
	t.Run("a before trigger that returns null", func(t *testing.T) {
		t.Parallel()
		b := setup(t, base+`CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
			CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW WHEN (OLD.id = 1) EXECUTE FUNCTION f();`)
		r, err := b.update("app.t", []sqlguard.SetValue{{Column: "v", Value: json.RawMessage("9")}}, nil, "id <= 2")
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Plan.AffectedRows)
	})
	t.Run("track_counts off", func(t *testing.T) {
		t.Parallel()
		db := pgtemp.New(t)
		db.Exec(t, "ALTER DATABASE "+db.Name+" SET track_counts = off")
		b := setupOn(t, db, base)
		r, err := b.update("app.t", []sqlguard.SetValue{{Column: "v", Value: json.RawMessage("9")}}, nil, "id = 1")
		require.NoError(t, err)
		require.Equal(t, plan.AwaitingApproval, r.Plan.State)
		require.Contains(t, r.Plan.BlastRadius.Unknown, "track_counts is off")
	})
	t.Run("a volatile function in where", func(t *testing.T) {
		t.Parallel()
		b := setup(t, base+`INSERT INTO side (v) SELECT generate_series(1, 1000);
			CREATE FUNCTION boom() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN DELETE FROM app.side; RETURN false; END $$;`)
		r, err := b.delete("app.t", "id = 3 AND app.boom()")
		require.NoError(t, err)
		require.EqualValues(t, 0, r.Plan.AffectedRows)
		require.EqualValues(t, 1000, r.Plan.BlastRadius.TotalRows)
		require.Equal(t, plan.AwaitingApproval, r.Plan.State)
		require.Contains(t, r.Plan.Why, "app.boom")
		require.Equal(t, "1000", b.one("SELECT count(*) FROM app.side"))
	})
	t.Run("a cascade over the hard cap", func(t *testing.T) {
		t.Parallel()
		b := setup(t, shopSQL+"INSERT INTO grandchild SELECT g, 1 FROM generate_series(1000, 11000) g")
		_, err := b.delete("app.parent", "id = 1")
		refused := requireCode(t, err, refusal.HardMaxRowsExceeded)
		require.Contains(t, refused, "app.grandchild 10,081")
		require.Empty(t, b.store.List())
		require.Equal(t, "1", b.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'hard_cap_refused'"))
	})
}

// TestS06TheCapCostsAProbe: more rows than the cap are refused before the statement runs.
func TestS06TheCapCostsAProbe(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE big (id int PRIMARY KEY, v int); INSERT INTO big SELECT g, 0 FROM generate_series(1, 20000) g;")
	_, err := b.delete("app.big", "v = 0")
	refused := requireCode(t, err, refusal.HardMaxRowsExceeded)
	require.Contains(t, refused, "more than 10,000")
	require.Equal(t, "0", b.one("SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables WHERE relname = 'big'"))
	require.Equal(t, "20000", b.one("SELECT count(*) FROM app.big"))
}

// TestUpdateChanges: before and after pair up whatever the key does.
func TestUpdateChanges(t *testing.T) {
	t.Parallel()
	set := func(c, v string) []sqlguard.SetValue {
		return []sqlguard.SetValue{{Column: c, Value: json.RawMessage(v)}}
	}
	for name, c := range map[string]struct {
		sql     string
		table   string
		set     []sqlguard.SetValue
		exprs   []sqlguard.SetExpr
		where   string
		changes string
		rows    int64
		warning string
	}{
		"by key": {
			sql: "CREATE TABLE t (id int PRIMARY KEY, a text, b int); INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)", set: set("a", `"z"`), where: "id <= 2", rows: 2,
			changes: `[{"key":{"id":1},"before":{"a":"x"},"after":{"a":"z"}},{"key":{"id":2},"before":{"a":"y"},"after":{"a":"z"}}]`,
		},
		"the key itself": {
			sql: "CREATE TABLE t (id int PRIMARY KEY, a text); INSERT INTO t VALUES (1, 'x'), (2, 'y')", exprs: []sqlguard.SetExpr{{Column: "id", Expr: "id + 10"}}, where: "id < 1000", rows: 2,
			changes: `[{"key":{"id":1},"before":{"id":1},"after":{"id":11}},{"key":{"id":2},"before":{"id":2},"after":{"id":12}}]`,
		},
		"no key": {
			sql: "CREATE TABLE t (id int, a text); INSERT INTO t VALUES (1, 'x'), (1, 'x')", set: set("a", `null`), where: "id = 1", rows: 2,
			changes: `[{"key":{},"before":{"a":"x"},"after":{"a":null}},{"key":{},"before":{"a":"x"},"after":{"a":null}}]`,
		},
		"updated_at trigger and generated column": {
			sql: `CREATE TABLE t (id int PRIMARY KEY, a int, twice int GENERATED ALWAYS AS (a * 2) STORED, at text);
				INSERT INTO t (id, a, at) VALUES (1, 1, 'old'); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at = 'new'; RETURN NEW; END $$;
				CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`,
			set: set("a", "5"), where: "id = 1", rows: 1,
			changes: `[{"key":{"id":1},"before":{"a":1,"twice":2,"at":"old"},"after":{"a":5,"twice":10,"at":"new"}}]`,
		},
		"rows that move between partitions": {
			sql: `CREATE TABLE t (id int, b int, PRIMARY KEY (id, b)) PARTITION BY RANGE (b); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10); CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (10) TO (20);
				INSERT INTO t VALUES (1, 1), (2, 11)`,
			set: set("b", "12"), where: "id > 0", rows: 2,
			changes: `[{"key":{"id":1,"b":1},"before":{"b":1},"after":{"b":12}},{"key":{"id":2,"b":11},"before":{"b":11},"after":{"b":12}}]`,
		},
		"json, numeric and names that need quotes": {
			sql: `CREATE TABLE "T x" ("Id" bigint PRIMARY KEY, j json, n numeric); INSERT INTO "T x" VALUES (9007199254740993, '{"a": 1}', 1.50)`, table: `app."T x"`,
			set: set("n", "2.5"), where: `"Id" = 9007199254740993`, rows: 1,
			changes: `[{"key":{"Id":"9007199254740993"},"before":{"n":"1.50"},"after":{"n":"2.5"}}]`,
		},
		"an updatable view": {
			sql: "CREATE TABLE base (id int PRIMARY KEY, a int); INSERT INTO base VALUES (1, 1); CREATE VIEW t AS SELECT id, a FROM base",
			set: set("a", "2"), where: "id = 1", rows: 1, changes: `[]`, warning: plan.WarnNoPairs,
		},
		"a view with INSTEAD OF": {
			sql: `CREATE TABLE base (id int PRIMARY KEY, a int); INSERT INTO base VALUES (1, 1); CREATE VIEW t AS SELECT id, a + 0 AS a FROM base;
				CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE app.base SET a = NEW.a WHERE id = OLD.id; RETURN NEW; END $$;
				CREATE TRIGGER g INSTEAD OF UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`,
			set: set("a", "2"), where: "id = 1", rows: 1, changes: `[]`, warning: plan.WarnNoPairs,
		},
		"inheritance": {
			sql: "CREATE TABLE t (id int PRIMARY KEY, a int); CREATE TABLE c (PRIMARY KEY (id)) INHERITS (t); INSERT INTO t VALUES (1, 1); INSERT INTO c VALUES (2, 1)",
			set: set("a", "2"), where: "a = 1", rows: 2,
			changes: `[{"key":{"id":1},"before":{"a":1},"after":{"a":2}},{"key":{"id":2},"before":{"a":1},"after":{"a":2}}]`,
		},
		"nothing matches": {
			sql: "CREATE TABLE t (id int PRIMARY KEY, a int)", set: set("a", "2"), where: "a = 1", rows: 0, changes: `[]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.sql)
			table := c.table
			if table == "" {
				table = "app.t"
			}
			r, err := b.update(table, c.set, c.exprs, c.where)
			require.NoError(t, err)
			require.Equal(t, c.rows, r.Plan.AffectedRows)
			require.Equal(t, c.changes, str(r.Plan.Changes))
			require.Equal(t, c.rows, r.Plan.BlastRadius.TotalRows, "%+v", r.Plan.BlastRadius)
			if c.warning != "" {
				require.Contains(t, str(r.Plan.Warnings), c.warning)
			}
			out, err := b.execute(r)
			require.NoError(t, err)
			require.Equal(t, c.rows, out.AffectedRows)
			require.Equal(t, c.rows, out.BlastRadius.TotalRows)
		})
	}
}

// TestInsert: keys as committed come back; sequences are said to differ; 7,000 nulls of every type work.
func TestInsert(t *testing.T) {
	t.Parallel()
	b := setup(t, `CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, u uuid DEFAULT gen_random_uuid(), a int, j jsonb, at timestamptz, twice int GENERATED ALWAYS AS (a * 2) STORED)`)
	r, err := b.insert("app.t", []string{"a", "j", "u", "at"}, raws("1", `{"a":1}`, "null", "null"), raws("2", "null", `"6f1c1ff2-7c7a-4d4e-9b8e-1f2b2d1a0001"`, `"2026-01-01 12:00+00"`))
	require.NoError(t, err)
	require.Equal(t, plan.Previewed, r.Plan.State)
	require.Len(t, r.Plan.SampleRows, 2)
	require.Contains(t, str(r.Plan.Warnings), plan.WarnPreviewValuesDiffer)
	out, err := b.execute(r)
	require.NoError(t, err)
	require.JSONEq(t, b.one(`SELECT json_agg(json_build_object('id', id::text, 'twice', twice) ORDER BY id)::text::jsonb::text FROM app.t`), str(out.Returned))
	require.Equal(t, "1", b.one(`SELECT j->>'a' FROM app.t WHERE a = 1`))

	rows := make([][]json.RawMessage, 7000)
	for i := range rows {
		rows[i] = raws("null", "null", "null", "null")
	}
	r, err = b.insert("app.t", []string{"a", "j", "u", "at"}, rows...)
	require.NoError(t, err)
	require.EqualValues(t, 7000, r.Plan.AffectedRows)
	require.Len(t, r.Plan.SampleRows, 10)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
}

// TestDeferredConstraintFailsAtPreview: what would only fail at COMMIT fails while nothing is promised yet.
func TestDeferredConstraintFailsAtPreview(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
	_, err := b.insert("app.c", []string{"id", "p"}, raws("1", "99"))
	require.Contains(t, requireCode(t, err, refusal.WriteFailed), "23503")
}

// TestGaplessNumberTrigger: inserts run READ COMMITTED, so a trigger that takes the next number under a
// lock sees the last one.
func TestGaplessNumberTrigger(t *testing.T) {
	t.Parallel()
	b := setup(t, `CREATE TABLE counter (n int); INSERT INTO counter VALUES (0); CREATE TABLE t (id int PRIMARY KEY, n int UNIQUE);
		CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE app.counter SET n = n + 1 RETURNING n INTO NEW.n; RETURN NEW; END $$;
		CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();`)
	var replies []writecore.Reply
	for i := range 5 {
		r, err := b.insert("app.t", []string{"id"}, raws(fmt.Sprint(i)))
		require.NoError(t, err)
		replies = append(replies, r)
	}
	errs := make(chan error, len(replies))
	for _, r := range replies {
		go func() { _, err := b.execute(r); errs <- err }()
	}
	for range replies {
		require.NoError(t, <-errs)
	}
	require.Equal(t, "1,2,3,4,5", b.one("SELECT string_agg(n::text, ',' ORDER BY n) FROM app.t"))
}

// TestSamplesPrintAsPromised: the role's own output settings do not reach the sample, and what a trigger
// leaves behind in its session does not reach the next call.
func TestSamplesPrintAsPromised(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "ALTER DATABASE "+db.Name+" SET DateStyle = 'German'; ALTER DATABASE "+db.Name+" SET IntervalStyle = 'iso_8601'; ALTER DATABASE "+db.Name+" SET bytea_output = 'escape'")
	b := setupOn(t, db, `CREATE TABLE t (id int PRIMARY KEY, d date, i interval, x bytea, f float8, v int);
		INSERT INTO t VALUES (1, '2026-01-31', '1 day 02:03:04', '\x00ff', 0.1, 0);
		CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM set_config('app.left', 'behind', false); PERFORM pg_advisory_lock(77); RETURN NEW; END $$;
		CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION leave();`)
	r, err := b.update("app.t", setV("1"), nil, "id = 1")
	require.NoError(t, err)
	require.Equal(t, `[{"id":1,"d":"2026-01-31","i":"1 day 02:03:04","x":"\\x00ff","f":0.1,"v":1}]`, str(r.Plan.SampleRows))
	_, err = b.execute(r)
	require.NoError(t, err)
	s, err := b.pools.Writer().Acquire(b.ctx)
	require.NoError(t, err)
	defer s.Release()
	replies, err := s.Flush(b.ctx, wire.Segment{{SQL: "SELECT coalesce(current_setting('app.left', true), ''), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())"}})
	require.NoError(t, err)
	require.Equal(t, "", string(replies[0].Results[0].Rows[0][0]))
	require.Equal(t, "0", string(replies[0].Results[0].Rows[0][1]))
}

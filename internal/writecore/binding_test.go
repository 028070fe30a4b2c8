package writecore_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// other is a second session of the writer, for what happens meanwhile.
func (b *bundle) other(sql ...string) (more func(sql ...string)) {
	b.t.Helper()
	s, err := b.pools.Writer().Acquire(b.ctx)
	require.NoError(b.t, err)
	b.t.Cleanup(s.Release)
	more = func(sql ...string) {
		b.t.Helper()
		var seg wire.Segment
		for _, q := range sql {
			seg = append(seg, wire.Step{SQL: q})
		}
		replies, err := s.Flush(b.ctx, seg)
		require.NoError(b.t, err)
		require.Nil(b.t, replies[0].Err)
	}
	more(sql...)
	return more
}

// waits returns once a backend of this database waits for a lock.
func (b *bundle) waits() {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		return b.one("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") != "0"
	}, 10*time.Second, 5*time.Millisecond)
}

// TestS04TheConditionReadsElsewhere: FOR UPDATE holds the target's rows, not the table that the condition
// reads; what was approved for row 1 must not become row 2 while execute waits.
func TestS04TheConditionReadsElsewhere(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]string{
		"a sub-select on another table":    "id IN (SELECT id FROM app.pick)",
		"a sub-select on the same table":   "id = (SELECT max(w) FROM app.t)",
		"a function of the database's own": "id = app.picked()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, `CREATE TABLE pick (id int PRIMARY KEY); INSERT INTO pick VALUES (1); CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, w int NOT NULL);
				INSERT INTO t VALUES (1, 0, 1), (2, 0, 0), (3, 0, 0);
				CREATE FUNCTION picked() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT id FROM app.pick); END';`, func(o *writecore.Options) { o.LockTimeout = 20 * time.Second })
			r, err := b.update("app.t", setV("9"), nil, where)
			require.NoError(t, err)
			require.EqualValues(t, 1, r.Plan.AffectedRows)
			more := b.other("BEGIN", "SELECT * FROM app.t WHERE id = 1 FOR UPDATE")
			done := make(chan error, 1)
			go func() { _, err := b.execute(r); done <- err }()
			b.waits()
			more("UPDATE app.pick SET id = 2", "UPDATE app.t SET w = 2 WHERE id = 3", "COMMIT")
			err = <-done
			require.Equal(t, "0,0", b.one("SELECT string_agg(v::text, ',') FROM app.t WHERE id > 1"), "a row that nobody approved was changed")
			if err != nil {
				requireCode(t, err, refusal.RowsetChanged)
			}
		})
	}
}

// TestS04TheRadiusIsAsUnknownAsApproved: what could be counted at preview and cannot at execute was not approved.
func TestS04TheRadiusIsAsUnknownAsApproved(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a table is emptied":     "TRUNCATE app.side;",
		"a temporary table":      "CREATE TEMP TABLE left_behind AS SELECT 1;",
		"more rows than counted": "INSERT INTO app.side SELECT generate_series(1, 3);",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tinySQL+`CREATE TABLE side (v int); INSERT INTO side SELECT generate_series(1, 50); CREATE TABLE flag (on_ boolean); INSERT INTO flag VALUES (false);
				CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN IF (SELECT on_ FROM app.flag) THEN `+body+` END IF; RETURN NEW; END $$;
				CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`)
			r, err := b.update("app.t", setV("5"), nil, "id = 1")
			require.NoError(t, err)
			require.Equal(t, plan.Previewed, r.Plan.State)
			b.db.Exec(t, "UPDATE app.flag SET on_ = true")
			_, err = b.execute(r)
			requireCode(t, err, refusal.RowsetChanged)
			require.Equal(t, "50", b.one("SELECT count(*) FROM app.side"))
			require.Equal(t, "0", b.one("SELECT sum(v) FROM app.t"))
		})
	}
}

// TestVolatileInSetKeepsTheRowsBound: a volatile function in SET asks a person and leaves the digest in force.
func TestVolatileInSetKeepsTheRowsBound(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (id int PRIMARY KEY, grp int NOT NULL, u uuid); INSERT INTO t VALUES (1, 1), (2, 2)")
	r, err := b.update("app.t", nil, []sqlguard.SetExpr{{Column: "u", Expr: "gen_random_uuid()"}}, "grp = 1")
	require.NoError(t, err)
	require.NotEmpty(t, r.Plan.RowsDigest)
	require.NotContains(t, str(r.Plan.Warnings), plan.WarnUnstableWhere)
	if r.Plan.State == plan.AwaitingApproval {
		b.approve(r)
	}
	b.db.Exec(t, "UPDATE app.t SET grp = 3 - grp")
	_, err = b.execute(r)
	requireCode(t, err, refusal.RowsetChanged)
	require.Equal(t, "0", b.one("SELECT count(u) FROM app.t"))
}

// TestRowSecurity: plans on a table with policies can run, also where the UPDATE policy shows fewer rows
// than the SELECT policy.
func TestRowSecurity(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL+`ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY s ON t FOR SELECT USING (id <= 5);
		CREATE POLICY u ON t FOR UPDATE USING (id <= 3); CREATE POLICY d ON t FOR DELETE USING (id <= 2);`)
	r, err := b.update("app.t", setV("5"), nil, "id <= 100")
	require.NoError(t, err)
	require.EqualValues(t, 3, r.Plan.AffectedRows)
	require.Contains(t, str(r.Plan.Warnings), plan.WarnRowSecurity)
	out, err := b.execute(r)
	require.NoError(t, err)
	require.EqualValues(t, 3, out.AffectedRows)
	r, err = b.delete("app.t", "id <= 100")
	require.NoError(t, err)
	_, err = b.execute(r)
	require.NoError(t, err)
	require.Equal(t, "298", b.one("SELECT count(*) FROM app.t"))
}

// TestRecheck: unchanged, changed and over are three answers, for rows and for migrations.
func TestRecheck(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	r, err := b.update("app.t", setV("5"), nil, "id <= 200")
	require.NoError(t, err)
	require.NoError(t, b.core.Recheck(b.ctx, r.Plan.Token))
	b.db.Exec(t, "UPDATE app.t SET v = 1 WHERE id = 7")
	requireCode(t, b.core.Recheck(b.ctx, r.Plan.Token), refusal.RowsetChanged)
	_, _, err = b.core.Reject(b.ctx, r.Plan.Token, "kim", "")
	require.NoError(t, err)
	requireCode(t, b.core.Recheck(b.ctx, r.Plan.Token), refusal.PlanRejected)
	requireCode(t, b.core.Recheck(b.ctx, plan.NewToken()), refusal.UnknownToken)

	m, err := b.migrate("ALTER TABLE app.t ADD COLUMN x int")
	require.NoError(t, err)
	require.NoError(t, b.core.Recheck(b.ctx, m.Plan.Token))
	b.db.Exec(t, "ALTER TABLE app.t ADD COLUMN y int")
	requireCode(t, b.core.Recheck(b.ctx, m.Plan.Token), refusal.RowsetChanged)
}

// TestANewPartition: one that is empty stops nothing (they come by themselves, at night); one that brings rows
// which match, or that the rows would go to now, does.
func TestANewPartition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, want string }{
		"empty":          {"CREATE TABLE app.t2 PARTITION OF app.t FOR VALUES FROM (10) TO (20)", ""},
		"with rows":      {"CREATE TABLE app.t2 (id int PRIMARY KEY, v int); INSERT INTO app.t2 VALUES (15, 0); ALTER TABLE app.t ATTACH PARTITION app.t2 FOR VALUES FROM (10) TO (20)", "1 rows matched when it was previewed, 2 now"},
		"one that takes": {"CREATE TABLE app.t5 PARTITION OF app.t FOR VALUES FROM (50) TO (60)", "where the rows go (app.t5 takes some now)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "CREATE TABLE t (id int PRIMARY KEY, v int) PARTITION BY RANGE (id); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10); CREATE TABLE rest PARTITION OF t DEFAULT; INSERT INTO t VALUES (1, 0)")
			r, err := b.update("app.t", setV("5"), nil, "id < 100")
			require.NoError(t, err)
			if name == "one that takes" {
				r, err = b.insert("app.t", []string{"id", "v"}, raws("55", "0"))
				require.NoError(t, err)
			}
			b.db.Exec(t, c.change)
			_, err = b.execute(r)
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, "5", b.one("SELECT sum(v) FROM app.t"))
				return
			}
			require.Contains(t, requireCode(t, err, refusal.RowsetChanged), c.want)
			require.Equal(t, "0", b.one("SELECT sum(v) FROM app.t"))
		})
	}
}

// TestWhatChangedMeanwhileStopsThePlan: a view or a table that is another one after the preview is said so,
// once and for good, not as a table that is not allowed.
func TestWhatChangedMeanwhileStopsThePlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, table, where, change string }{
		"a view is redefined": {
			"CREATE TABLE b (id int PRIMARY KEY, v int); INSERT INTO b VALUES (1, 0), (2, 0); CREATE VIEW t AS SELECT id, v FROM b WHERE id = 1",
			"app.t", "v = 0", "CREATE OR REPLACE VIEW app.t AS SELECT id, v FROM app.b WHERE id = 2",
		},
		"another table takes the name": {
			tinySQL, "app.t", "id = 1", "ALTER TABLE app.t RENAME TO old; CREATE TABLE app.t (id int PRIMARY KEY, v int); INSERT INTO app.t VALUES (1, 0); GRANT ALL ON app.t TO writer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.sql)
			r, err := b.update(c.table, setV("5"), nil, c.where)
			require.NoError(t, err)
			b.db.Exec(t, c.change)
			for range 2 {
				_, err = b.execute(r)
				requireCode(t, err, refusal.RowsetChanged)
			}
			require.Equal(t, "0", b.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'executed'"))
		})
	}
}

// TestDecisionsAndTheirRow: with audit.required an approval without its row is none; a rejection stands.
func TestDecisionsAndTheirRow(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL, func(o *writecore.Options) { o.AuditRequired = true })
	r, err := b.update("app.t", setV("5"), nil, "id <= 200")
	require.NoError(t, err)
	b.db.Exec(t, "REVOKE INSERT ON mcp_audit.log FROM writer")
	_, _, err = b.core.Approve(b.ctx, r.Plan.Token, "kim")
	requireCode(t, err, refusal.AuditUnavailable)
	p, _ := b.store.Get(r.Plan.Token)
	require.Equal(t, plan.AwaitingApproval, p.State)
	_, _, err = b.core.Reject(b.ctx, r.Plan.Token, "kim", "no")
	require.NoError(t, err)
	p, _ = b.store.Get(r.Plan.Token)
	require.Equal(t, plan.Rejected, p.State)
}

// TestUnknownTokenIsNotGuessed: a ledger that cannot be asked is not an empty one.
func TestUnknownTokenIsNotGuessed(t *testing.T) {
	t.Parallel()
	c := &cutting{}
	b := cut(t, c)
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	r.Plan.Token = plan.NewToken()
	_, err = b.execute(r)
	requireCode(t, err, refusal.UnknownToken)
	c.before = func([]wire.Segment) error { return errCut }
	_, err = b.execute(r)
	requireCode(t, err, refusal.DatabaseUnavailable)
	c.before = nil
	b.db.Exec(t, "DROP FUNCTION mcp_audit.outcome(text)")
	_, err = b.execute(r)
	requireCode(t, err, refusal.UnknownToken)
}

// TestCountersAfterACommitWithoutItsRow: that way to COMMIT leaves nothing for the next preview to count either.
func TestCountersAfterACommitWithoutItsRow(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	b.db.Exec(t, "REVOKE INSERT ON mcp_audit.log FROM writer")
	for i := range 5 {
		r, err := b.update("app.t", setV(str(i+1)), nil, "id <= 50")
		require.NoError(t, err)
		_, err = b.execute(r)
		require.NoError(t, err)
		r, err = b.update("app.t", setV("99"), nil, "id = 300")
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Plan.BlastRadius.TotalRows)
	}
}

// TestIndirectTable: a table that changes with the target and is not on the allowlist asks a person.
func TestIndirectTable(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, `CREATE SCHEMA hidden; CREATE TABLE hidden.log (v int);`)
	b := setupOn(t, db, tinySQL+`CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO hidden.log VALUES (1); RETURN NEW; END $$;
		CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f(); RESET ROLE; GRANT USAGE ON SCHEMA hidden TO migrator; GRANT INSERT ON hidden.log TO migrator;`)
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	require.Contains(t, r.Plan.Why, "hidden.log is not on the write allowlist")
	require.Contains(t, str(r.Plan.Warnings), plan.WarnIndirectTable)
}

// TestSerializationFailuresAreTriedAgain: 40001 and 40P01 are tried three times, then said.
func TestSerializationFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"40001", "40P01"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tinySQL+`CREATE SEQUENCE tries; CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
				IF nextval('app.tries') < 3 THEN RAISE EXCEPTION 'again' USING ERRCODE = '`+state+`'; END IF; RETURN NEW; END $$;
				CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`)
			r, err := b.update("app.t", setV("5"), nil, "id = 1")
			require.NoError(t, err, "the third try went through")
			b.db.Exec(t, "SELECT setval('app.tries', 1, false)")
			_, err = b.execute(r)
			require.NoError(t, err)
			b.db.Exec(t, "ALTER SEQUENCE app.tries MINVALUE -100 START -100 RESTART -100")
			_, err = b.update("app.t", setV("6"), nil, "id = 1")
			require.Contains(t, requireCode(t, err, refusal.WriteFailed), "three times")
			require.Equal(t, "-98", b.one("SELECT last_value FROM app.tries"))
		})
	}
}

// TestAStatementThatChangesItsSession: a trigger that changes role or timeouts is rolled back, at preview and at execute.
func TestAStatementThatChangesItsSession(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a timeout":    "PERFORM set_config('statement_timeout', '0', false);",
		"row security": "PERFORM set_config('row_security', 'off', false);",
		"search_path":  "PERFORM set_config('search_path', 'pg_temp', true);",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tinySQL+`CREATE TABLE flag (on_ boolean); INSERT INTO flag VALUES (false);
				CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF (SELECT on_ FROM app.flag) THEN `+body+` END IF; RETURN NEW; END $$;
				CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`)
			r, err := b.update("app.t", setV("5"), nil, "id = 1")
			require.NoError(t, err)
			b.db.Exec(t, "UPDATE app.flag SET on_ = true")
			_, err = b.execute(r)
			require.Contains(t, requireCode(t, err, refusal.WriteFailed), "its own session")
			_, err = b.update("app.t", setV("6"), nil, "id = 2")
			require.Contains(t, requireCode(t, err, refusal.WriteFailed), "its own session")
			require.Equal(t, "0", b.one("SELECT sum(v) FROM app.t"))
		})
	}
}

// TestCommitIsDurable: a role with synchronous_commit off still commits durably here.
func TestCommitIsDurable(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "ALTER DATABASE "+db.Name+" SET synchronous_commit = off")
	b := setupOn(t, db, tinySQL+`CREATE TABLE seen (setting text); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
		INSERT INTO app.seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$; CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`)
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	_, err = b.execute(r)
	require.NoError(t, err)
	require.Equal(t, "on", b.one("SELECT setting FROM app.seen"))
}

// TestOnlyOneMayHoldAToken: while another process holds the token's lock, execute waits for it and no longer.
func TestOnlyOneMayHoldAToken(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL, func(o *writecore.Options) { o.LockTimeout = 200 * time.Millisecond })
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	more := b.other("BEGIN", "SELECT pg_advisory_xact_lock("+writecore.TokenKey(r.Plan.Token)+")")
	_, err = b.execute(r)
	requireCode(t, err, refusal.LockTimeout)
	more("COMMIT")
	_, err = b.execute(r)
	require.NoError(t, err)
}

// TestLostUpdate: a row that another session has changed and not yet committed when execute begins is not
// the row that was approved, however the target is bound.
func TestLostUpdate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, table string }{
		"FOR UPDATE on a table":         {"", "app.t"},
		"one snapshot for a view":       {"CREATE VIEW seen AS SELECT id, v FROM t;", "app.seen"},
		"one snapshot without UPDATE":   {"REVOKE UPDATE ON t FROM writer;", "app.t"},
		"one snapshot for row security": {"ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (true);", "app.t"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tinySQL+c.sql, func(o *writecore.Options) { o.LockTimeout = 20 * time.Second })
			var r writecore.Reply
			var err error
			if name == "one snapshot without UPDATE" {
				r, err = b.delete(c.table, "id = 1")
			} else {
				r, err = b.update(c.table, nil, []sqlguard.SetExpr{{Column: "v", Expr: "v + 1"}}, "id = 1")
			}
			require.NoError(t, err)
			super := b.super("BEGIN; UPDATE app.t SET v = 100 WHERE id = 1")
			done := make(chan error, 1)
			go func() { _, err := b.execute(r); done <- err }()
			b.waits()
			super("COMMIT")
			requireCode(t, <-done, refusal.RowsetChanged)
			require.Equal(t, "100", b.one("SELECT v FROM app.t WHERE id = 1"))
		})
	}
}

// super is a session of the superuser that stays open.
func (b *bundle) super(sql string) (more func(string)) {
	b.t.Helper()
	conn, err := pgconn.Connect(b.ctx, b.db.Super)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	more = func(sql string) {
		b.t.Helper()
		_, err := conn.Exec(b.ctx, sql).ReadAll()
		require.NoError(b.t, err)
	}
	more(sql)
	return more
}

// TestDigestSurvivesOldTransactionIDs: no test database has old transaction ids, so the expressions are
// fed with literal ones, up to the largest.
func TestDigestSurvivesOldTransactionIDs(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	seen := map[string]bool{}
	for _, xmin := range []string{"3", "5", "1073741823", "1073741824", "2147483647", "2147483648", "4294967295"} {
		for _, tid := range []string{"(0,1)", "(4294967294,65535)"} {
			sums := b.one("SELECT concat_ws(':', " + writecore.VersionSums + ") FROM (SELECT '" + tid + "'::tid AS sw_c, (" + xmin + "::bigint << 32) # 16384::oid::bigint AS sw_x) s")
			require.False(t, seen[sums], "two versions with one digest")
			seen[sums] = true
		}
	}
}

// TestNothingOfAPreviewStays: what agent text left in its session is gone before the next call, also
// where the transaction was rolled back.
func TestNothingOfAPreviewStays(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL+`CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE 'PREPARE leak' || NEW.id || ' AS SELECT 1'; PERFORM pg_advisory_lock(99); RETURN NEW; END $$;
		CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`)
	for range 3 {
		_, err := b.update("app.t", setV("5"), nil, "id = 1")
		require.NoError(t, err)
	}
	require.Equal(t, "0", b.one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 99"))
}

// TestDeferredAgain: a deferred trigger that defers anew is still counted before anybody is told a number.
func TestDeferredAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL+`CREATE TABLE mid (v int); CREATE TABLE victim (v int); INSERT INTO victim SELECT generate_series(1, 5000);
		CREATE FUNCTION one() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO app.mid VALUES (1); RETURN NULL; END $$;
		CREATE FUNCTION two() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN DELETE FROM app.victim; RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER g AFTER UPDATE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION one();
		CREATE CONSTRAINT TRIGGER g AFTER INSERT ON mid DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION two();`)
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	require.EqualValues(t, 5002, r.Plan.BlastRadius.TotalRows)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
}

// TestForeignTable: rows that leave the database cannot be counted or rolled back, so a person is asked.
func TestForeignTable(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "CREATE EXTENSION postgres_fdw; CREATE TABLE far (v int)")
	u, err := url.Parse(db.Super)
	require.NoError(t, err)
	password, _ := u.User.Password()
	db.Exec(t, fmt.Sprintf(`CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '%s', dbname '%s');
		CREATE USER MAPPING FOR PUBLIC SERVER here OPTIONS (user '%s', password '%s'); GRANT USAGE ON FOREIGN SERVER here TO migrator`,
		u.Port(), db.Name, u.User.Username(), password))
	b := setupOn(t, db, tinySQL+`CREATE FOREIGN TABLE away (v int) SERVER here OPTIONS (schema_name 'public', table_name 'far');
		CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO app.away VALUES (1); RETURN NULL; END $$;
		CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`)
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	require.Contains(t, r.Plan.BlastRadius.Unknown, "app.away is a foreign table")
}

// TestHugeCells: a value that nobody reads never leaves the server, and is still told apart.
func TestHugeCells(t *testing.T) {
	t.Parallel()
	b := setup(t, `CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, body text, raw bytea, j jsonb);
		INSERT INTO t SELECT g, 0, repeat('x', 5000000), decode(repeat('00', 3000000), 'hex'), jsonb_build_object('k', repeat('y', 100000)) FROM generate_series(1, 12) g;`)
	r, err := b.delete("app.t", "id <= 12")
	require.NoError(t, err)
	require.Len(t, r.Plan.SampleRows, 10)
	require.Less(t, len(str(r.Plan.SampleRows)), 10_000)
	require.Contains(t, str(r.Plan.SampleRows), "… (5000000 bytes)")
	require.Contains(t, str(r.Plan.SampleRows), "… (6000000 bytes)")
	r, err = b.update("app.t", nil, []sqlguard.SetExpr{{Column: "body", Expr: "body || 'z'"}}, "id = 3")
	require.NoError(t, err)
	require.Equal(t, `[{"key":{"id":3},"before":{"body":"… (5000000 bytes)"},"after":{"body":"… (5000001 bytes)"}}]`, str(r.Plan.Changes))
	_, err = b.execute(r)
	require.NoError(t, err)
}

// TestWideAndEmptyTables: up to the most columns a table can have, and none at all.
func TestWideAndEmptyTables(t *testing.T) {
	t.Parallel()
	var cols strings.Builder
	for i := range 1590 {
		fmt.Fprintf(&cols, ", c%d int", i)
	}
	b := setup(t, "CREATE TABLE t (id int PRIMARY KEY, v int"+cols.String()+"); INSERT INTO t (id, v) VALUES (1, 0); CREATE TABLE nokey (v int"+cols.String()+"); INSERT INTO nokey (v) VALUES (0); CREATE TABLE bare (); INSERT INTO bare DEFAULT VALUES")
	for _, table := range []string{"app.t", "app.nokey"} {
		r, err := b.update(table, setV("5"), nil, "v = 0")
		require.NoError(t, err)
		require.Contains(t, str(r.Plan.Changes), `"before":{"v":0},"after":{"v":5}`)
		_, err = b.execute(r)
		require.NoError(t, err)
		r, err = b.delete(table, "v = 5")
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Plan.AffectedRows)
	}
	st, err := b.guard.Delete(b.ctx, b.pools.Writer().Catalog(), sqlguard.DeleteSpec{Table: "app.bare", ConfirmFullTable: true})
	require.NoError(t, err)
	r, err := b.core.Preview(b.ctx, writecore.Request{Tool: "delete_rows", Reason: "test", Statement: st})
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Plan.AffectedRows)
}

// TestS13AMigrationMeansWhatTheGuardRead: "$user" in the search path is another schema for the role that
// runs it; at the rehearsal and at execute the names mean what was checked and approved.
func TestS13AMigrationMeansWhatTheGuardRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, gone string }{
		"drop":         {"DROP TABLE t", "t"},
		"drop cascade": {"DROP TABLE t CASCADE", "t"},
		"alter":        {"ALTER TABLE t ADD COLUMN z int", ""},
		"index":        {"CREATE INDEX made ON t (id)", ""},
	} {
		for _, when := range []string{"before the preview", "after it"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				db := pgtemp.New(t)
				db.Exec(t, "CREATE SCHEMA migrator AUTHORIZATION migrator; SET ROLE migrator; CREATE TABLE public.t (id int)")
				other := "SET ROLE migrator; CREATE TABLE migrator.t (id int); INSERT INTO migrator.t VALUES (1)"
				if when == "before the preview" {
					db.Exec(t, other)
				}
				b := setupOn(t, db, "")
				allow, err := sqlguard.ParseWriteAllowlist(nil, []string{"public.t", "public.made"})
				require.NoError(t, err)
				b.guard = sqlguard.New(sqlguard.Policy{Write: allow})
				r, err := b.migrate(c.text)
				require.NoError(t, err)
				b.approve(r)
				if when == "after it" {
					db.Exec(t, other)
				}
				_, err = b.execute(r)
				require.NoError(t, err)
				require.Equal(t, "1", b.one("SELECT count(*) FROM migrator.t"))
				require.Equal(t, "1", b.one("SELECT count(*) FROM pg_attribute WHERE attrelid = 'migrator.t'::regclass AND attnum > 0"))
				require.Equal(t, "0", b.one("SELECT count(*) FROM pg_index WHERE indrelid = 'migrator.t'::regclass"))
				if c.gone != "" {
					require.Equal(t, "<null>", b.one("SELECT to_regclass('public.t')::text"))
				}
			})
		}
	}
}

// TestS04AMigrationLosesNoMoreThanWasApproved: rows, values and dependents that came after the rehearsal.
func TestS04AMigrationLosesNoMoreThanWasApproved(t *testing.T) {
	t.Parallel()
	const empty = "CREATE TABLE t (id int PRIMARY KEY, a int); CREATE VIEW v1 AS SELECT a FROM t;"
	for name, c := range map[string]struct{ sql, text, change, says string }{
		"values in a dropped column":   {"CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1)", "ALTER TABLE app.t DROP COLUMN a", "INSERT INTO app.t SELECT g, g FROM generate_series(2, 5000) g", "app.t.a"},
		"rows in a dropped table":      {"CREATE TABLE t (id int PRIMARY KEY)", "DROP TABLE app.t", "INSERT INTO app.t SELECT generate_series(1, 4999)", "4,999"},
		"one more view":                {empty, "DROP TABLE app.t CASCADE", "CREATE VIEW app.v2 AS SELECT id FROM app.t", "app.v2"},
		"a materialized view":          {empty, "ALTER TABLE app.t DROP COLUMN a CASCADE", "CREATE MATERIALIZED VIEW app.mv AS SELECT a FROM app.t", "app.mv"},
		"a foreign key from elsewhere": {empty, "DROP TABLE app.t CASCADE", "CREATE TABLE app.kid (t int REFERENCES app.t)", "app.kid"},
		"the table was made anew":      {"CREATE TABLE t (id int PRIMARY KEY)", "ALTER TABLE app.t ADD COLUMN z int", "DROP TABLE app.t; CREATE TABLE app.t (id int PRIMARY KEY); ALTER TABLE app.t OWNER TO migrator", "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.sql)
			r, err := b.migrate(c.text)
			require.NoError(t, err)
			b.approve(r)
			b.db.Exec(t, c.change)
			_, err = b.execute(r)
			require.Contains(t, requireCode(t, err, refusal.RowsetChanged), c.says)
			require.NotEqual(t, "<null>", b.one("SELECT to_regclass('app.t')::text"))
		})
	}
}

// TestMigrationPreviewIsBounded: a rehearsal that takes longer than migration.previewLockMs is given up.
func TestMigrationPreviewIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, `CREATE TABLE t (id int); INSERT INTO t VALUES (1); CREATE FUNCTION slow(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM pg_sleep(30); RETURN true; END $$;`,
		func(o *writecore.Options) { o.PreviewLock = 200 * time.Millisecond })
	start := time.Now()
	_, err := b.migrate("ALTER TABLE app.t ADD CONSTRAINT c CHECK (app.slow(id))")
	require.Contains(t, requireCode(t, err, refusal.StatementTimeout), "migration.previewLockMs")
	require.Less(t, time.Since(start), 10*time.Second)
}

// TestS12OwnFunctionsUnderAReadAllowlist: a function can show what the allowlist hides, and nothing tells
// from outside what it reads: it is called only where the operator says so.
func TestS12OwnFunctionsUnderAReadAllowlist(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "CREATE SCHEMA hidden; CREATE TABLE hidden.s (v int)")
	b := setupOn(t, db, tinySQL+`
		CREATE FUNCTION peek() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT v FROM hidden.s); END';`)
	read, err := sqlguard.ParseAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	write, err := sqlguard.ParseWriteAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	cat := b.pools.Writer().Catalog()
	for _, allowed := range []bool{false, true} {
		policy := sqlguard.Policy{Read: read, Write: write}
		if allowed {
			policy.AllowFunctions = []string{"app.peek"}
		}
		g := sqlguard.New(policy)
		_, inWhere := g.Delete(b.ctx, cat, sqlguard.DeleteSpec{Table: "app.t", Where: "id = app.peek()"})
		_, inSet := g.Update(b.ctx, cat, sqlguard.UpdateSpec{Table: "app.t", SetExpressions: []sqlguard.SetExpr{{Column: "v", Expr: "app.peek()"}}, Where: "id = 1"})
		_, inRead := g.Read(b.ctx, cat, "SELECT app.peek()", nil)
		for _, err := range []error{inWhere, inSet, inRead} {
			if allowed {
				require.NoError(t, err)
			} else {
				requireCode(t, err, refusal.FunctionNotAllowed)
			}
		}
	}
}

// TestAVolatileAggregate: an aggregate is always marked immutable, and as volatile as what it is made of.
func TestAVolatileAggregate(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL+`CREATE TABLE side (v int);
		CREATE FUNCTION trans(int, int) RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN INSERT INTO app.side VALUES (1); RETURN 1; END';
		CREATE AGGREGATE volagg(int) (SFUNC = trans, STYPE = int, INITCOND = '0');`)
	r, err := b.delete("app.t", "id = 300 AND (SELECT app.volagg(x) FROM generate_series(1, 3) x) IS NOT NULL")
	require.NoError(t, err)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	require.Contains(t, str(r.Plan.Warnings), plan.WarnSideEffects)
	require.EqualValues(t, 4, r.Plan.BlastRadius.TotalRows, "the probe's effects were undone and are not counted")
	require.Equal(t, "0", b.one("SELECT count(*) FROM app.side"))
	_, err = b.insert("app.t", []string{"id", "v"}, raws("1000", "1"))
	require.NoError(t, err)
}

package writecore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// TestLockTimeoutNamesWhoBlocks: preview and execute of rows, and a migration, name the session in their
// way, by process and age and never by the text of what it runs.
func TestLockTimeoutNamesWhoBlocks(t *testing.T) {
	t.Parallel()
	const blocking = "SELECT id AS sesame FROM app.t WHERE id = 1 FOR UPDATE"
	b := setup(t, tinySQL, func(o *writecore.Options) { o.LockTimeout = 1500 * time.Millisecond })
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	ddl, err := b.migrate("ALTER TABLE app.t ADD COLUMN x int")
	require.NoError(t, err)
	b.approve(ddl)
	calls := map[string]func() error{
		"preview":            func() error { _, err := b.update("app.t", setV("6"), nil, "id = 1"); return err },
		"execute":            func() error { _, err := b.execute(r); return err },
		"migration, preview": func() error { _, err := b.migrate("ALTER TABLE app.t ADD COLUMN y int"); return err },
		"migration, execute": func() error { _, err := b.execute(ddl); return err },
	}
	b.other("BEGIN", blocking)
	pid := b.one("SELECT DISTINCT pid::text FROM pg_locks WHERE relation = 'app.t'::regclass AND mode = 'RowShareLock'")
	for name, call := range calls {
		message := requireCode(t, call(), refusal.LockTimeout)
		require.Regexp(t, `: pid `+pid+` \(its transaction has been open for \d+ s, its last statement began \d+ s ago\)\. Nothing was changed\.$`, message, name)
		require.NotContains(t, message, "sesame")
	}
}

// Of another role's session this role may not see the times; the process it may.
func TestLockTimeoutNamesOthersWithoutTimes(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL, func(o *writecore.Options) { o.LockTimeout = 1500 * time.Millisecond })
	b.super("BEGIN; LOCK TABLE app.t")
	pid := b.one("SELECT DISTINCT pid::text FROM pg_locks WHERE relation = 'app.t'::regclass")
	_, err := b.delete("app.t", "id = 1")
	require.Contains(t, requireCode(t, err, refusal.LockTimeout), "pid "+pid+" (since when, this role may not see)")
}

// A pool that has no connection left for the look delays nothing.
func TestLockTimeoutWithoutALook(t *testing.T) {
	t.Parallel()
	first := make(chan struct{}, 1)
	b := setup(t, tinySQL, func(o *writecore.Options) {
		o.LockTimeout = 200 * time.Millisecond
		acquire := o.Acquire
		o.Acquire = func(ctx context.Context) (writecore.Session, error) {
			select {
			case first <- struct{}{}:
				return acquire(ctx)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	b.super("BEGIN; LOCK TABLE app.t")
	_, err := b.delete("app.t", "id = 1")
	require.NotContains(t, requireCode(t, err, refusal.LockTimeout), "pid")
}

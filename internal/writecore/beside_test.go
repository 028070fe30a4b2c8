package writecore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// TestPreviewsBesideUpdates: a busy table is no reason to fail. Previews of UPDATE and DELETE run on one
// snapshot while others change the same rows two hundred times a second; what that makes fail is tried
// again, and every preview gives a plan.
func TestPreviewsBesideUpdates(t *testing.T) {
	t.Parallel()
	const previews = 20
	b := setupOn(t, pgtemp.New(t), "CREATE TABLE busy (id int PRIMARY KEY, n int); INSERT INTO busy SELECT g, 0 FROM generate_series(1, 100) g;")
	ctx, stop := context.WithCancel(b.ctx)
	var all sync.WaitGroup
	updates := 0
	all.Go(func() {
		s, err := b.pools.Writer().Acquire(ctx)
		if err != nil {
			return
		}
		defer s.Release()
		tick := time.NewTicker(time.Second / 200)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			replies, err := s.Flush(b.ctx, wire.Segment{{SQL: fmt.Sprintf("UPDATE app.busy SET n = n + 1 WHERE id = %d", updates%100+1)}})
			if err != nil || replies[0].Err != nil {
				t.Errorf("an update beside the previews failed: %v %v", err, replies)
				return
			}
			updates++
		}
	})
	for i := range previews {
		where := fmt.Sprintf("id BETWEEN %d AND %d", i*5+1, i*5+5)
		r, err := b.delete("app.busy", where)
		require.NoError(t, err)
		require.EqualValues(t, 5, r.Plan.AffectedRows)
		r, err = b.update("app.busy", nil, []sqlguard.SetExpr{{Column: "n", Expr: "n + 1"}}, where)
		require.NoError(t, err)
		require.EqualValues(t, 5, r.Plan.AffectedRows)
	}
	stop()
	all.Wait()
	require.Positive(t, updates)
	require.Equal(t, fmt.Sprint(updates), b.one("SELECT sum(n) FROM app.busy"), "a preview undid an update, or was left in it")
}

package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// bundle is one database with both pools on it.
type bundle struct {
	*postgres.DB
	PG *pgtemp.DB

	mu       sync.Mutex
	warnings []string
}

func (b *bundle) Warnings() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.warnings...)
}

// setup opens both pools on a fresh database. change may alter the options first.
func setup(t *testing.T, change ...func(*pgtemp.DB, *postgres.Options)) *bundle {
	t.Helper()
	b := &bundle{PG: pgtemp.New(t)}
	o := postgres.Options{
		ReadonlyURL: b.PG.Readonly, WriterURL: b.PG.Writer, MaxConnections: 4,
		Warn: func(s string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.warnings = append(b.warnings, s)
		},
	}
	for _, f := range change {
		f(b.PG, &o)
	}
	var err error
	b.DB, err = postgres.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func acquire(t *testing.T, p *postgres.Pool) *postgres.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := p.Acquire(ctx)
	require.NoError(t, err)
	t.Cleanup(s.Release)
	return s
}

func seg(sql ...string) wire.Segment {
	var s wire.Segment
	for _, q := range sql {
		s = append(s, wire.Step{SQL: q})
	}
	return s
}

// setupOn opens both pools once more on the same database.
func setupOn(t *testing.T, b *bundle) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: b.PG.Readonly, WriterURL: b.PG.Writer, MaxConnections: 2})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

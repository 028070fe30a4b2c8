package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// read runs one read on a session of its own. It is tried once more, on another connection, when
// the first was found dead before the server answered anything, and when a standby ended it because it
// stood in the way of what the primary did (manual, "Handling Query Conflicts"): everything that comes
// through here is READ ONLY and rolled back. Writes never come through here. See TestReadsOfAStandby.
func (p *Pool) read(ctx context.Context, flush func(*Session) ([]wire.Reply, error)) ([]wire.Reply, error) {
	for try := 0; ; try++ {
		s, err := p.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		replies, err := flush(s)
		s.Release()
		if err == nil || try > 0 || ctx.Err() != nil || !conflicted(replies) && !retryableRead(replies, err) {
			return replies, p.readError(ctx, err)
		}
	}
}

// conflicted tells whether a standby ended the read in favour of replay. A function may
// raise the same error; to try that twice harms nobody.
func conflicted(replies []wire.Reply) bool {
	return slices.ContainsFunc(replies, func(r wire.Reply) bool { return r.Err != nil && r.Err.SQLState == "40001" })
}

// retryableRead tells whether the connection was dead before the server did anything of it.
func retryableRead(replies []wire.Reply, err error) bool {
	if !errors.Is(err, wire.ErrConnectionLost) {
		return false
	}
	if pgconn.SafeToRetry(err) {
		return true
	}
	return len(replies) == 0 || len(replies) == 1 && len(replies[0].Results) == 0
}

func (p *Pool) readError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(err, wire.ErrConnectionLost) {
		return err
	}
	if _, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
		return refusal.New(refusal.QueryFailed,
			fmt.Sprintf("one row is larger than %d MB", maxMessage>>20),
			"select a part of the large column, for example left(column, 1000) or substr(column, from, length)")
	}
	return refusal.New(refusal.DatabaseUnavailable, "the connection to the database was lost",
		"call again; if it happens again, look at the server's log")
}

package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
)

// SeedURL is [SeedWith] on a connection of its own. Its errors hold no password.
func SeedURL(ctx context.Context, url string, opts SeedOptions) (_ Counts, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		// The driver's own text may hold the connection string (its user, host and options).
		var refused *pgconn.PgError
		if errors.As(err, &refused) {
			return Counts{}, fmt.Errorf("connecting: %s (SQLSTATE %s)", postgres.Redact(refused.Message), refused.Code)
		}
		return Counts{}, fmt.Errorf("connecting: %s", postgres.Redact(err.Error()))
	}
	defer func() { err = firstError(err, conn.Close(context.WithoutCancel(ctx))) }()
	return SeedWith(ctx, conn, opts)
}

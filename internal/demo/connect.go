package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SeedURL is [SeedWith] on a connection of its own. Its errors hold neither the connection string
// nor a password.
func SeedURL(ctx context.Context, url string, opts SeedOptions) (_ Counts, err error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil { // the driver quotes the string, and finds a password only in one that is well-formed
		return Counts{}, errors.New("the connection string cannot be read: give postgres://user:password@host:port/database, with special characters of the password percent-encoded")
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
			return Counts{}, fmt.Errorf("connecting to %s, database %s: %s (SQLSTATE %s)", cfg.Host, cfg.Database, refused.Message, refused.Code)
		}
		return Counts{}, fmt.Errorf("connecting to %s:%d, database %s: nothing answers there as Postgres does", cfg.Host, cfg.Port, cfg.Database)
	}
	defer func() { err = firstError(err, conn.Close(context.WithoutCancel(ctx))) }()
	return SeedWith(ctx, conn, opts)
}

package pgtemp

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed leftovers.sql
var leftoversSQL string

// leftovers says what is still open in the database; empty if nothing is. A connection that was
// just closed takes its server process a moment to end, so it looks again for up to three seconds.
func (db *DB) leftovers(ctx context.Context) (string, error) {
	conn, err := connect(ctx, db.Super)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for deadline := time.Now().Add(3 * time.Second); ; {
		rows, err := conn.Query(ctx, leftoversSQL)
		if err != nil {
			return "", fmt.Errorf("looking for what the test left open: %w", err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return "", fmt.Errorf("looking for what the test left open: %w", err)
		}
		if len(found) == 0 || time.Now().After(deadline) {
			return strings.Join(found, "\n"), nil
		}
		time.Sleep(20 * time.Millisecond) // the server tells nobody when a backend has ended
	}
}

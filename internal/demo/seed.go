package demo

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	initsql "github.com/jpka/sw-postgres-mcp/docker/init"
)

// SeedOptions says what SeedWith shall do.
type SeedOptions struct {
	Seed uint64
	// Yes empties tables of the demo's names and columns even if they are not marked as the demo's.
	Yes bool
}

// Counts is how many rows each table holds after seeding.
type Counts struct {
	Customers, Products, Orders, OrderItems int64
}

// NotDemoError says that tables of the demo's names exist and are not the demo's.
type NotDemoError struct{ Tables []string }

// Error implements error.
func (e *NotDemoError) Error() string {
	return "not the demo's, so they will not be emptied: " + strings.Join(e.Tables, ", ")
}

// table is one of the four, in the order in which they are filled.
type table struct {
	name    string
	columns []string
}

var tables = []table{
	{"customers", []string{"id", "tenant", "name", "email", "country", "created_at", "last_login"}},
	{"products", []string{"id", "sku", "name", "category", "price", "stock"}},
	{"orders", []string{"id", "customer_id", "status", "total", "created_at"}},
	{"order_items", []string{"id", "order_id", "product_id", "quantity", "unit_price"}},
}

//go:embed inspect.sql
var inspectSQL string

const migrator = "migrator"

// Seed is [SeedWith] for a database of the demo's own: it never empties a table that is not.
func Seed(ctx context.Context, conn *pgx.Conn, seed uint64) error {
	_, err := SeedWith(ctx, conn, SeedOptions{Seed: seed})
	return err
}

// SeedWith fills the demo's tables in the database that conn is connected to, anew each time: it makes
// them if they are missing (as migrator where the user is a member of it, so that run_migration may
// change them), empties them, fills them with the rows of the seed, and analyses them. All of the
// emptying and filling is one transaction.
//
// Tables of these names without the demo's mark are a [*NotDemoError] unless opts.Yes; with it they
// are emptied and filled if they have the demo's columns. Tables that others refer to are never
// emptied by cascade: that is an error.
func SeedWith(ctx context.Context, conn *pgx.Conn, opts SeedOptions) (Counts, error) {
	owner, err := prepare(ctx, conn, opts.Yes)
	if err != nil {
		return Counts{}, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("seeding: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after Commit it does nothing
	counts, err := fill(ctx, tx, owner, generate(opts.Seed))
	if err != nil {
		return Counts{}, fmt.Errorf("seeding: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return Counts{}, fmt.Errorf("seeding: %w", err)
	}
	return counts, nil
}

// prepare makes sure that the four tables are there and may be emptied, and returns their owner.
func prepare(ctx context.Context, conn *pgx.Conn, yes bool) (owner string, err error) {
	found, err := inspect(ctx, conn)
	if err != nil {
		return "", err
	}
	var strange []string
	for _, f := range found {
		if !f.marked {
			strange = append(strange, "public."+f.name)
		}
	}
	switch {
	case len(strange) == 0:
		text, err := initsql.Files.ReadFile("03_demo.sql")
		if err != nil {
			return "", fmt.Errorf("reading the demo's schema: %w", err)
		}
		if _, err := conn.PgConn().Exec(ctx, string(text)).ReadAll(); err != nil {
			return "", errors.Join(fmt.Errorf("applying the demo's schema: %w", err), rollback(ctx, conn))
		}
		if found, err = inspect(ctx, conn); err != nil {
			return "", err
		}
	case !yes:
		return "", &NotDemoError{Tables: strange}
	}
	for _, t := range tables {
		i := slices.IndexFunc(found, func(f existing) bool { return f.name == t.name })
		if i < 0 {
			return "", fmt.Errorf("public.%s is missing beside tables that are not the demo's: use another database", t.name)
		}
		for _, column := range t.columns {
			if !slices.Contains(found[i].columns, column) {
				return "", fmt.Errorf("public.%s has no column %s, so it cannot hold the demo's rows: use another database", t.name, column)
			}
		}
	}
	return found[0].owner, nil
}

type existing struct {
	name    string
	marked  bool
	owner   string
	columns []string
}

func inspect(ctx context.Context, conn *pgx.Conn) ([]existing, error) {
	rows, err := conn.Query(ctx, inspectSQL)
	if err != nil {
		return nil, fmt.Errorf("looking for the demo's tables: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e existing, err error) {
		return e, row.Scan(&e.name, &e.marked, &e.owner, &e.columns)
	})
	if err != nil {
		return nil, fmt.Errorf("looking for the demo's tables: %w", err)
	}
	return found, nil
}

// rollback ends a transaction that a failed text of many statements has left open.
func rollback(ctx context.Context, conn *pgx.Conn) error {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	_, err := conn.Exec(context.WithoutCancel(ctx), "ROLLBACK")
	return err
}

func fill(ctx context.Context, tx pgx.Tx, owner string, d *data) (Counts, error) {
	var names []string
	for _, t := range tables {
		names = append(names, "public."+t.name)
	}
	all := strings.Join(names, ", ")
	// TRUNCATE waits for everybody who reads the tables, and everybody then waits for it.
	setup := []string{"SET LOCAL lock_timeout = '5s'"}
	if owner == migrator {
		setup = append(setup, "SET LOCAL ROLE "+migrator)
	}
	for _, sql := range append(setup, "TRUNCATE "+all+" RESTART IDENTITY") {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return Counts{}, err
		}
	}
	counts := make([]int64, len(tables))
	for i, b := range []*bytes.Buffer{&d.customers, &d.products, &d.orders, &d.orderItems} {
		t := tables[i]
		tag, err := tx.Conn().PgConn().CopyFrom(ctx, b, "COPY public."+t.name+" ("+strings.Join(t.columns, ", ")+") FROM STDIN")
		if err != nil {
			return Counts{}, fmt.Errorf("filling public.%s: %w", t.name, err)
		}
		counts[i] = tag.RowsAffected()
		// The ids were given, so the sequences do not know of them yet.
		if _, err := tx.Exec(ctx, "SELECT setval(pg_get_serial_sequence($1, 'id'), $2)", "public."+t.name, counts[i]); err != nil {
			return Counts{}, fmt.Errorf("setting the sequence of public.%s: %w", t.name, err)
		}
	}
	if _, err := tx.Exec(ctx, "ANALYZE "+all); err != nil {
		return Counts{}, err
	}
	return Counts{Customers: counts[0], Products: counts[1], Orders: counts[2], OrderItems: counts[3]}, nil
}

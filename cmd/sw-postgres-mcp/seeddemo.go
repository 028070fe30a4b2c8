package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jpka/sw-postgres-mcp/internal/demo"
)

// composeURL is the database of docker-compose.yml as it is without any change.
//
//nolint:gosec // its passwords are in docker-compose.yml for everyone to read
const composeURL = "postgres://writer:writer@127.0.0.1:5432/shop"

func seedDemoCommand(r *root) *cobra.Command {
	var connection string
	var opts demo.SeedOptions
	cmd := &cobra.Command{
		Use:   "seed-demo",
		Short: "Fill a database with the demo data",
		Long: "seed-demo makes the demo's four tables in schema public if they are missing, empties them and fills them:\n" +
			"the same rows for the same seed, in a few seconds, as often as you like. The connection is --connection,\n" +
			"else $DATABASE_URL_WRITER, $POSTGRES_WRITER_URL or $DATABASE_URL, else the database of docker-compose.yml.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.seedDemo(cmd.Context(), connection, opts) },
	}
	cmd.Flags().StringVar(&connection, "connection", "", "connection string of the writer")
	cmd.Flags().Uint64Var(&opts.Seed, "seed", demoSeed, "seed of the demo data")
	cmd.Flags().BoolVar(&opts.Yes, "yes", false, "empty tables of these names even if they are not marked as the demo's")
	return cmd
}

func (r *root) seedDemo(ctx context.Context, connection string, opts demo.SeedOptions) error {
	url, from := r.demoConnection(connection)
	counts, err := demo.SeedURL(ctx, url, opts)
	var strange *demo.NotDemoError
	switch {
	case errors.As(err, &strange):
		return usage(fmt.Errorf("%w; give --yes to empty them all the same", err))
	case err != nil:
		return fmt.Errorf("seeding the database of %s: %w", from, err)
	}
	_, err = fmt.Fprintf(r.out, "seeded: %d customers, %d products, %d orders, %d order items (seed %d)\n",
		counts.Customers, counts.Products, counts.Orders, counts.OrderItems, opts.Seed)
	return err
}

// demoConnection finds the connection string and says where it came from, without its text.
func (r *root) demoConnection(given string) (url, from string) {
	if given != "" {
		return given, "--connection"
	}
	for _, name := range []string{"DATABASE_URL_WRITER", "POSTGRES_WRITER_URL", "DATABASE_URL"} {
		if v, ok := r.env(name); ok && v != "" {
			return v, name
		}
	}
	return composeURL, "docker-compose.yml (no --connection and no variable is set)"
}

package main

import (
	"context"
	"fmt"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// migrations tells which of the writable tables run_migration can change: Postgres lets only the owner of a
// table alter it, whatever else is granted. Without database.migrationRole that is no warning: a writer
// that owns nothing is how somebody who wants no migrations sets it up.
func (p *report) migrations(ctx context.Context, db *postgres.DB, role string, write sqlguard.Allowlist) {
	if write.Empty() {
		return
	}
	schemas, tables := write.Entries()
	found, err := db.Writer().Granted(ctx, schemas, tables)
	if err != nil {
		p.fail(migrationKey, err)
		return
	}
	var all, not int
	var example string
	for _, r := range found.Relations {
		if r.Kind != 'r' && r.Kind != 'p' && r.Kind != 'v' {
			continue
		}
		all++
		if !r.Migrates {
			not++
			if example == "" {
				example = sqlguard.QuoteName(r.Schema, r.Name)
			}
		}
	}
	switch {
	case all == 0: // the allowlist's own line says so
	case role == "":
		p.ok(migrationKey, fmt.Sprintf("none: run_migration runs as role %s, which owns %d of the %d tables and views that may be written", sqlguard.QuoteIdent(found.Role), all-not, all))
	case not == 0:
		p.ok(migrationKey, fmt.Sprintf("role %s owns what may be written: run_migration can change it", sqlguard.QuoteIdent(role)))
	default:
		p.warn(migrationKey, fmt.Sprintf("role %s does not own %d of the %d tables and views that may be written, for example %s: run_migration cannot change them. ALTER TABLE … OWNER TO %s for those it shall change",
			sqlguard.QuoteIdent(role), not, all, example, sqlguard.QuoteIdent(role)))
	}
}

const migrationKey = "database.migrationRole"

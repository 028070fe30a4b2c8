package main

import (
	"context"
	"fmt"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const migrationKey = "database.migrationRole"

// migrations tells which of the writable tables run_migration can alter: Postgres lets only the owner of a table
// do that, whatever else is granted. That it can alter none is no warning where everything else fits: somebody
// may want it so.
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
	who := sqlguard.QuoteIdent(role)
	switch {
	case role == "":
		who = sqlguard.QuoteIdent(found.Role)
	case found.Becomes == postgres.NoSuchRole:
		p.warn(migrationKey, "there is no role "+who+": run_migration will fail")
		return
	case found.Becomes == postgres.NoMember:
		p.warn(migrationKey, fmt.Sprintf("role %s is no member of %s: run_migration will fail (GRANT %s TO %s)", sqlguard.QuoteIdent(found.Role), who, who, sqlguard.QuoteIdent(found.Role)))
		return
	}
	var all, others, shut int
	var othersIs, shutIs string
	for _, r := range found.Relations {
		if r.Kind != 'r' && r.Kind != 'p' && r.Kind != 'v' {
			continue
		}
		all++
		switch {
		case !r.Owned:
			if others++; othersIs == "" {
				othersIs = sqlguard.QuoteName(r.Schema, r.Name)
			}
		case !r.SchemaOpen:
			if shut++; shutIs == "" {
				shutIs = sqlguard.QuoteIdent(r.Schema)
			}
		}
	}
	if all == 0 {
		return // the allowlist's own line says so
	}
	what := "is the one table or view"
	if all > 1 {
		what = fmt.Sprintf("are %d tables and views", all)
	}
	what += " that may be written"
	switch {
	case others == 0 && shut == 0:
		p.ok(migrationKey, fmt.Sprintf("role %s owns what may be written: run_migration can alter it", who))
	case others == all && role == "":
		p.ok(migrationKey, fmt.Sprintf("none: run_migration runs as role %s, which owns nothing of what may be written and can alter none of it", who))
	case others > 0:
		p.ok(migrationKey, fmt.Sprintf("there %s, %d of them owned by role %s; run_migration cannot alter the others, for example %s (README, On your own database)", what, all-others, who, othersIs))
	}
	if shut > 0 && role != "" {
		p.warn(migrationKey, fmt.Sprintf("role %s lacks USAGE or CREATE on the schema %s, whose tables it owns: GRANT USAGE, CREATE ON SCHEMA %s TO %s", who, shutIs, shutIs, who))
	}
}

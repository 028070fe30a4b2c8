package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// missing says what of a mask is not in the database, "" where nothing is. Neither means that nothing is
// masked: a table of that name is masked as soon as it is there, and one that lacks the column is closed.
func missing(ctx context.Context, db *postgres.DB, m sqlguard.Mask) (string, error) {
	n := sqlguard.Name{Schema: m.Schema, Name: m.Table}
	facts, err := db.Readonly().Catalog().Lookup(ctx, sqlguard.Lookup{Relations: []sqlguard.Name{n}}, true)
	if err != nil {
		return "", err
	}
	rel, ok := facts.Relations[n]
	if !ok {
		return "there is no such table; one of that name will be masked when it comes", nil
	}
	if !slices.ContainsFunc(rel.Columns, func(c sqlguard.Column) bool { return c.Name == m.Column }) {
		return "there is no such column, so what it protected cannot be told: the whole table is closed to the agent", nil
	}
	return "", nil
}

// masks prints a line per mask.
func (p *report) masks(ctx context.Context, db *postgres.DB, list []sqlguard.Mask) {
	for _, m := range list {
		lacks, err := missing(ctx, db, m)
		switch {
		case err != nil:
			p.fail("mask", err)
			return
		case lacks != "":
			p.warn("mask", m.String()+": "+lacks)
		default:
			p.ok("mask", fmt.Sprintf("%s: %s", m, m.As))
		}
	}
}

// warnMasks says at the start which masks name something that is not there.
func (a *app) warnMasks(ctx context.Context) {
	for _, m := range a.guard.Masks() {
		if lacks, err := missing(ctx, a.db, m); err == nil && lacks != "" {
			a.log.Warn("a mask names what is not there", "mask", m.String(), "but", lacks)
		}
	}
}

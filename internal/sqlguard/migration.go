package sqlguard

import (
	"context"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Migration checks one DDL statement.
func (g *Guard) Migration(ctx context.Context, cat Catalog, text string) (*Statement, error) {
	if _, _, _, err := parseStatement(text); err != nil {
		return nil, err
	}
	return nil, refusal.New(refusal.UnsupportedMigration, "No form is supported yet.", "Wait.")
}

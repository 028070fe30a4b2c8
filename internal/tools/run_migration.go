package tools

import (
	"context"
	"encoding/json"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const runMigrationUsage = "run_migration takes statement (string: one DDL statement) and reason (string); both are required."

func runMigration(d Deps) Tool {
	return Tool{
		Name: "run_migration", Title: "Preview a migration (DDL)",
		Description: `Preview one DDL statement: CREATE, ALTER or DROP of tables, indexes, views, types and the like. It really runs and is rolled back: nothing is changed by this call. The answer's facts say what was measured: the locks it took and for how long, which tables it rewrote, what it drops, which values are lost with dropped columns, and what the readonly role could not read afterwards. A table that was only read whole, as by a new constraint or index, is not measured.

A person always decides on a migration. Give your user approval_url, then call execute_plan with plan_token and statement exactly as given: it waits for the decision. PLAN_REJECTED carries their reason.

One statement per call, no parameters. Statements that change rows belong into insert_rows, update_rows and delete_rows. What cannot run inside a transaction (CREATE INDEX CONCURRENTLY, VACUUM, ALTER SYSTEM, CREATE DATABASE) is refused.`,
		Schema: object(`"statement","reason"`,
			`"statement":{"type":"string","description":"One DDL statement, without a trailing semicolon or parameters."},`+reasonProperty),
		Hints: Hints{ReadOnly: false, Destructive: false, Idempotent: false, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a struct {
				Statement *string `json:"statement"`
				Reason    *string `json:"reason"`
			}
			err := decode(runMigrationUsage, call.Arguments, &a)
			if err != nil {
				return nil, d.undecoded(ctx, "run_migration", call.Arguments, err)
			}
			w := write{tool: "run_migration"}
			if a.Statement != nil {
				w.asked = *a.Statement
			}
			if w.reason, err = reasonOf(a.Reason); err != nil {
				return nil, d.refused(ctx, w, err)
			}
			if a.Statement == nil {
				return nil, d.refused(ctx, w, missing(runMigrationUsage, "statement"))
			}
			w.guard = func(cat sqlguard.Catalog) (*sqlguard.Statement, error) {
				return d.Text.Migration(ctx, cat, *a.Statement)
			}
			return d.previewWrite(ctx, call, w)
		},
	}
}

package sqlguard

import (
	"context"
	"encoding/json"
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Read checks one SELECT, VALUES, TABLE or WITH … SELECT for the readonly pool. Every relation of
// every part must be readable and every function harmless. It is what `query` and `explain_plan`
// run; READ ONLY in the server stays the wall behind it.
func (g *Guard) Read(ctx context.Context, cat Catalog, text string, params []json.RawMessage) (*Statement, error) {
	node, line, tokens, err := parseStatement(text)
	if err != nil {
		return nil, err
	}
	if node.GetSelectStmt() == nil {
		return nil, notSelect(node)
	}
	f := newFound()
	f.top = node.GetSelectStmt()
	f.settleOutput(f.top)
	f.add(node)
	if err := onlyReads(f); err != nil {
		return nil, err
	}
	safe, err := safeParams(params)
	if err != nil {
		return nil, err
	}
	if f.err == nil {
		if err := checkParams(f.params, len(safe)); err != nil {
			return nil, err
		}
	}
	v, err := g.judge(ctx, cat, f, readMode)
	if err != nil {
		return nil, err
	}
	if err := checkNumbers("statement", tokens, v.facts.ServerVersion); err != nil {
		return nil, err
	}
	return &Statement{
		class: Read, sql: line, params: safe, relations: v.relations, volatile: v.names(),
		facts: v.sortedFacts(), outside: v.outside, closure: v.oids(), scope: g.scope(v),
		mask: g.maskView(v, v.outputs),
	}, nil
}

// onlyReads refuses what a SELECT can hold that is no read.
func onlyReads(f *found) error {
	switch {
	case f.writes != "":
		return refusal.New(refusal.NotSelect, fmt.Sprintf("The statement holds %s inside.", article(f.writes)),
			"Reads cannot change data; use delete_rows, update_rows or insert_rows, which preview the change.")
	case f.into:
		return refusal.New(refusal.NotSelect, "SELECT INTO creates a table.", "Use run_migration with CREATE TABLE … AS.")
	case f.locking:
		return refusal.New(refusal.NotSelect, "FOR UPDATE and FOR SHARE lock rows.",
			"Leave the clause out; the write tools lock what they change.")
	}
	return nil
}

func article(s string) string {
	if s == "INSERT" || s == "UPDATE" {
		return "an " + s
	}
	return "a " + s
}

const usePreview = "Use the preview tools for it: delete_rows, update_rows or insert_rows."

// notSelect says what a statement is and what to use instead.
func notSelect(node *pg.Node) error {
	var what, hint string
	switch node.Node.(type) {
	case *pg.Node_InsertStmt:
		what, hint = "INSERT", usePreview
	case *pg.Node_UpdateStmt:
		what, hint = "UPDATE", usePreview
	case *pg.Node_DeleteStmt:
		what, hint = "DELETE", usePreview
	case *pg.Node_MergeStmt:
		what, hint = "MERGE", usePreview
	case *pg.Node_TruncateStmt:
		what, hint = "TRUNCATE", "Use delete_rows with confirm_full_table, which shows what it would remove."
	case *pg.Node_ExplainStmt:
		what, hint = "EXPLAIN", "Use explain_plan and give it the SELECT alone; writes are measured by their preview."
	case *pg.Node_VariableShowStmt:
		what, hint = "SHOW", "Use SELECT current_setting('name')."
	case *pg.Node_VariableSetStmt, *pg.Node_AlterSystemStmt:
		what, hint = "SET", "Settings are the operator's; each call runs in a transaction of its own."
	case *pg.Node_TransactionStmt:
		what, hint = "Transaction control", "Each call runs in its own transaction; only execute_plan commits."
	case *pg.Node_DoStmt:
		what, hint = "DO", "Write what it does as plain SQL."
	case *pg.Node_CallStmt:
		what, hint = "CALL", "Write what it does as plain SQL."
	case *pg.Node_CopyStmt:
		what, hint = "COPY", "Use a SELECT to read, insert_rows to write."
	case *pg.Node_NotifyStmt, *pg.Node_ListenStmt, *pg.Node_UnlistenStmt:
		what, hint = "LISTEN and NOTIFY", "They have no use here: every call is rolled back or committed on its own."
	case *pg.Node_PrepareStmt, *pg.Node_ExecuteStmt, *pg.Node_DeallocateStmt:
		what, hint = "PREPARE and EXECUTE", "Send the statement itself, with params."
	case *pg.Node_DeclareCursorStmt, *pg.Node_FetchStmt, *pg.Node_ClosePortalStmt:
		what, hint = "Cursor statements", "Send the SELECT itself; use limit, or LIMIT and OFFSET."
	case *pg.Node_LockStmt:
		what, hint = "LOCK", "The write tools lock what they change."
	case *pg.Node_VacuumStmt, *pg.Node_ClusterStmt, *pg.Node_ReindexStmt, *pg.Node_CheckPointStmt:
		what, hint = "Maintenance", "Ask the operator to run it."
	default:
		what, hint = "This kind of statement", "Send a SELECT, VALUES, TABLE or WITH … SELECT; changes of the schema go through run_migration."
	}
	return refusal.New(refusal.NotSelect, what+" is not a read.", hint)
}

package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// reads gives the tools the readonly pool. The two packages do not know each other, so the shapes
// are copied here.
type reads struct {
	pool  *postgres.Pool
	guard *sqlguard.Guard
}

// Query implements tools.Reads.
func (r reads) Query(ctx context.Context, st *sqlguard.Statement, l tools.QueryLimits) (*tools.QueryResult, error) {
	q, err := r.pool.Query(ctx, st, postgres.QueryLimits{Rows: l.Rows, Bytes: l.Bytes, Timeout: l.Timeout})
	if err != nil {
		return nil, err
	}
	out := &tools.QueryResult{
		Columns: q.Columns, Types: q.Types, Rows: q.Rows, Truncated: q.Truncated, Shortened: q.Shortened, Hint: q.Hint,
	}
	for _, m := range q.Masked {
		out.Masked = append(out.Masked, m.Column+" ("+string(m.As)+")")
	}
	return out, nil
}

// Explain implements tools.Reads.
func (r reads) Explain(ctx context.Context, st *sqlguard.Statement, timeout time.Duration) (*tools.Explained, error) {
	e, err := r.pool.Explain(ctx, st, timeout, r.guard.CanRead)
	if err != nil {
		return nil, err
	}
	out := &tools.Explained{Plan: e.Plan, Scanned: make([]tools.Scanned, len(e.Scanned))}
	for i, t := range e.Scanned {
		out.Scanned[i] = tools.Scanned(t)
	}
	return out, nil
}

// Describe implements tools.Reads.
func (r reads) Describe(ctx context.Context, req tools.DescribeRequest) ([]tools.Described, error) {
	list, err := r.pool.Describe(ctx, postgres.DescribeRequest{
		Schema: req.Schema, Table: req.Table, OID: req.OID, Like: req.Like, Full: req.Full, Children: req.Children, Budget: req.Budget,
		MayRead: r.guard.CanRead, MayWrite: r.guard.CanWrite,
	})
	if err != nil {
		return nil, err
	}
	out := make([]tools.Described, len(list))
	for i, t := range list {
		out[i] = tools.Described{Schema: t.Schema, Table: t.Table, Entry: t.Entry, Summary: t.Summary}
	}
	return out, nil
}

// writer gives the core a session of the writer pool.
func writer(db *postgres.DB) func(context.Context) (writecore.Session, error) {
	return func(ctx context.Context) (writecore.Session, error) {
		s, err := db.Writer().Acquire(ctx)
		if err != nil {
			return nil, err // not s: a nil *Session is not a nil interface
		}
		return s, nil
	}
}

// recheck puts a statement of an earlier process through the guard again, over the writer's catalog.
func recheck(db *postgres.DB, guard *sqlguard.Guard) func(context.Context, string, []json.RawMessage) (*sqlguard.Statement, error) {
	return func(ctx context.Context, sql string, params []json.RawMessage) (*sqlguard.Statement, error) {
		return guard.Again(ctx, db.Writer().Catalog(), sql, params)
	}
}

// recorder gives the audit the same.
func recorder(db *postgres.DB) func(context.Context) (audit.Session, error) {
	return func(ctx context.Context) (audit.Session, error) {
		s, err := db.Writer().Acquire(ctx)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// recordReads records every read in the audit table, where audit.reads asks for it.
func recordReads(log *audit.Log, caller string) func(context.Context, tools.ReadEvent) {
	return func(ctx context.Context, e tools.ReadEvent) {
		row := audit.Event{
			Tool: e.Tool, Reason: e.Reason, Statement: e.Statement, Params: e.Params,
			Status: audit.Executed, ActualRows: &e.Rows, Duration: e.Duration, CallerID: caller,
		}
		if e.Err != nil {
			row.Status, row.ActualRows, row.ErrorCode = audit.Failed, nil, string(refusal.InternalError)
			if refused, ok := refusal.As(e.Err); ok {
				row.ErrorCode = string(refused.Code)
			}
		}
		_ = log.Record(ctx, row) // loud and counted there; the read is answered all the same
	}
}

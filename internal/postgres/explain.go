package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

const explainPrefix = "EXPLAIN (FORMAT JSON) DECLARE sw_c NO SCROLL CURSOR FOR "

// Explain returns Postgres' plan of a checked read as its own JSON array. The statement is planned,
// not run, in a READ ONLY transaction that is rolled back. Behind DECLARE no ANALYZE and no other
// statement fits; cursor_tuple_fraction 1 makes it the plan of reading all rows.
//
// Refusals as [Pool.Query], with EXPLAIN_FAILED for what is about the statement.
func (p *Pool) Explain(ctx context.Context, st *sqlguard.Statement, timeout time.Duration) (json.RawMessage, error) {
	if st.Class() != sqlguard.Read {
		return nil, fmt.Errorf("explaining a statement of class %q", st.Class())
	}
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	var plan json.RawMessage
	_, err := p.read(ctx, func(s *Session) ([]wire.Reply, error) {
		bounded, cancel := context.WithTimeout(ctx, timeout+5*time.Second)
		defer cancel()
		params, err := s.encodeFor(bounded, st, refusal.ExplainFailed)
		if err != nil {
			return nil, err
		}
		f := newReadFlush(s, timeout)
		f.Add("fraction", wire.Step{SQL: "SELECT pg_catalog.set_config('cursor_tuple_fraction', '1', true)"})
		f.resolve(st.SQL(), st.LockClosure(), st.Facts())
		f.agent("explain", explainPrefix, st.SQL(), params)
		replies, err := f.send(bounded, s, nil)
		if err != nil {
			return replies, err
		}
		if err := f.refuse(ctx, s, replies[0], refusal.ExplainFailed); err != nil {
			return replies, err
		}
		rows := replies[0].Results[f.Index("explain")].Rows
		if len(rows) != 1 || len(rows[0]) != 1 || !json.Valid(rows[0][0]) {
			return replies, errors.New("reading a plan: it is not one JSON value")
		}
		plan = rows[0][0]
		return replies, nil
	})
	if err != nil {
		return nil, err
	}
	return plan, nil
}

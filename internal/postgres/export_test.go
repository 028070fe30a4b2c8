package postgres

import (
	"context"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// RunUnguarded runs text the way Query does, with no guard before it: what is left is what the
// server itself holds. Only test code can reach it.
func (p *Pool) RunUnguarded(ctx context.Context, sql string, closure []uint32) (rows [][][]byte, err error) {
	_, err = p.read(ctx, func(s *Session) ([]wire.Reply, error) {
		f := newReadFlush(s, 0)
		f.forget = true // who cannot tell what a text calls takes the worst
		f.Steps()[1].Params[0] = []byte("5000")
		f.Steps()[1].Params[1] = []byte("5000")
		if closure != nil {
			f.resolve(sql, closure, nil)
		}
		f.agent("declare", declare, sql, nil)
		f.Add("fetch", wire.Step{SQL: "FETCH FORWARD 1000 FROM sw_c"})
		if closure != nil {
			f.Add("witness2", wire.Witness(closure, f.mark, true))
		}
		replies, err := f.send(ctx, s, nil)
		if err != nil {
			return replies, err
		}
		if fetch := f.Index("fetch"); len(replies[0].Results) > fetch {
			rows = replies[0].Results[fetch].Rows
		}
		return replies, f.refuse(ctx, s, replies[0], refusal.QueryFailed)
	})
	return rows, err
}

// ExplainUnguarded does the same for Explain.
func (p *Pool) ExplainUnguarded(ctx context.Context, sql string) error {
	_, err := p.read(ctx, func(s *Session) ([]wire.Reply, error) {
		f := newReadFlush(s, 0)
		f.Steps()[1].Params[0] = []byte("5000")
		f.Steps()[1].Params[1] = []byte("5000")
		f.agent("explain", explainPrefix, sql, nil)
		replies, err := f.send(ctx, s, nil)
		if err != nil {
			return replies, err
		}
		return replies, f.refuse(ctx, s, replies[0], refusal.ExplainFailed)
	})
	return err
}

// Printed runs one statement of the test's own the way a read runs, and returns what Postgres printed.
func (s *Session) Printed(ctx context.Context, sql string, params [][]byte) (wire.Result, error) {
	f := newReadFlush(s, 10*time.Second)
	f.Add("run", wire.Step{SQL: sql, Params: params})
	replies, err := f.send(ctx, s, nil)
	if err != nil {
		return wire.Result{}, err
	}
	if replies[0].Err != nil {
		return wire.Result{}, replies[0].Err
	}
	return replies[0].Results[f.Index("run")], nil
}

// FlushRows is Flush; row is called at each row, which is not kept.
func (s *Session) FlushRows(ctx context.Context, segments []wire.Segment, row func()) ([]wire.Reply, error) {
	return s.flush(ctx, segments, func(int, int, []wire.Column, [][]byte) { row() })
}

// AskAlways makes every idle connection be asked whether it is there before it is used, however short it was idle.
func (p *Pool) AskAlways() { p.quiet = 0 }

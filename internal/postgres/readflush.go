package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

//go:embed readset.sql
var readSetSQL string

// readLockTimeout bounds the wait for a lock in a read; a SELECT only waits for DDL.
const readLockTimeout = 3 * time.Second

// timeoutSetting is the configuration key behind a read's statement_timeout.
const timeoutSetting = "query.statementTimeoutMs"

// readFlush is the one flush of a read: named steps of a READ ONLY transaction, and a segment that
// rolls it back and drops what a ROLLBACK leaves. See TestS11EveryAttackOnTheWall.
type readFlush struct {
	wire.Script
	mark string
	// forget: the text calls functions of others, which may PREPARE; no ROLLBACK takes that back.
	forget bool
	// hide: columns are masked, so what the server says of values is held back.
	hide bool
}

// newReadFlush begins the transaction. Everything the server reads afterwards is bounded by timeout.
func newReadFlush(s *Session, timeout time.Duration) *readFlush {
	f := &readFlush{mark: wire.NewMark()}
	f.Add("begin", wire.Step{SQL: "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY"})
	ms := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
	f.Add("set", wire.Step{SQL: readSetSQL, Params: text(
		ms(timeout), ms(min(timeout, readLockTimeout)), ms(2*timeout+10*time.Second), s.facts.role, f.mark)})
	return f
}

// agent adds agent text behind a prefix of ours, in whose grammar transaction control is an error.
// See TestS11GrammarIsAWall.
func (f *readFlush) agent(name, prefix, sql string, params [][]byte) {
	f.Add(name, wire.Step{SQL: prefix + sql, Params: params, PrefixRunes: utf8.RuneCountInString(prefix)})
}

// resolve lets Postgres find what the names of an agent's text mean, and fails the flush unless that is
// what the guard saw. Nothing of the text has been planned or run behind it. See TestStaleViewIsNotRun,
// TestWitnessIsNotAlarmedByPlanning.
func (f *readFlush) resolve(sql string, closure []uint32, facts []wire.Fact) {
	f.Add("resolve", wire.Step{SQL: sql, ParseOnly: true})
	f.Add("witness", wire.Witness(closure, f.mark, false))
	if len(facts) > 0 {
		f.Add("facts", wire.AssertFacts(facts, f.mark))
	}
}

// send runs the flush. It returns the first segment's reply; a connection whose state is not
// certain afterwards is discarded.
func (f *readFlush) send(ctx context.Context, s *Session, sink rowSink) ([]wire.Reply, error) {
	end := wire.Segment{{SQL: "ROLLBACK"}, {SQL: "SELECT pg_catalog.pg_advisory_unlock_all()"}}
	if f.forget {
		end = append(end, wire.Step{SQL: "DEALLOCATE ALL"})
	}
	replies, err := s.flush(ctx, []wire.Segment{f.Steps(), end}, sink)
	if err != nil {
		return replies, err
	}
	if replies[1].Err != nil || replies[1].TxStatus != 'I' {
		s.Discard()
	}
	// 'I' here would mean that agent text ended the transaction.
	if r := replies[0]; r.TxStatus != 'T' && r.TxStatus != 'E' && len(r.Results) > 0 {
		s.Discard()
		return replies, errors.New("running a read: the transaction was ended by the statement")
	}
	return replies, nil
}

// refuse turns the reply's error into what the agent reads, by the step it belongs to. It is nil
// without an error.
func (f *readFlush) refuse(ctx context.Context, s *Session, r wire.Reply, fallback refusal.Code) error {
	if r.Err == nil {
		return nil
	}
	if ctx.Err() != nil && r.Err.SQLState == "57014" {
		return fmt.Errorf("running a read: %w", ctx.Err())
	}
	step := f.Failed(r)
	if rest, ok := wire.Marked(r.Err, f.mark); ok {
		return f.contradicted(s, step, rest, fallback)
	}
	o := wire.RefuseOptions{
		Fallback: fallback, TimeoutSetting: timeoutSetting,
		LockSetting: "the limit for reads (" + readLockTimeout.String() + ")", Masks: f.hide,
	}
	if step == "begin" || step == "set" {
		o.Fallback = refusal.DatabaseUnavailable
	}
	return wire.Refuse(r.Err, o)
}

// contradicted is the answer when a step found the world to be another than was believed.
func (f *readFlush) contradicted(s *Session, step, found string, fallback refusal.Code) error {
	if step == "set" {
		s.Discard()
		return refusal.New(refusal.DatabaseUnavailable,
			"the server connection does not have the role or the settings that were checked",
			"the operator should look at the connection pooler; then call again")
	}
	s.pool.catalog.forget()
	if step == "facts" {
		if strings.HasPrefix(found, string(rune(wire.FactPath))) {
			s.Discard() // connections of one pool that differ would contradict each other for ever
		}
		return errors.Join(refusal.New(fallback,
			"a table, view, function or type that the statement uses was changed while it was being checked", "call again"), wire.ErrStaleCatalog)
	}
	s.pool.db.log.Warn("a read touched relations that were not recognised", "pool", s.pool.role.String(), "step", step, "relations", found)
	return errors.Join(refusal.New(refusal.TableNotAllowlisted,
		"the statement reads a table that is not allowlisted, or that could not be recognised in its text",
		"write schema-qualified names of tables that describe_schema shows, and leave out functions that read other tables"), wire.ErrStaleCatalog)
}

// encodeFor renders a statement's parameters; what the server says of them is a refusal.
func (s *Session) encodeFor(ctx context.Context, st *sqlguard.Statement, fallback refusal.Code) ([][]byte, error) {
	params, err := s.EncodeParams(ctx, st.SQL(), st.Params())
	if refused, ok := errors.AsType[*wire.ServerError](err); ok {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("asking for parameter types: %w", ctx.Err())
		}
		return nil, wire.Refuse(refused, wire.RefuseOptions{Fallback: fallback, TimeoutSetting: timeoutSetting, LockSetting: "the limit for reads", Masks: st.Masking()})
	}
	return params, err
}

package postgres

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
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

var (
	//go:embed witness.sql
	witnessSQL string
	//go:embed routines.sql
	routinesSQL string
	//go:embed readset.sql
	readSetSQL string
)

// firstUserOID is FirstNormalObjectId of access/transam.h: relations below were made by initdb.
const firstUserOID = 16384

// readLockTimeout bounds the wait for a lock in a read; a SELECT only waits for DDL.
const readLockTimeout = 3 * time.Second

// timeoutSetting is the configuration key behind a read's statement_timeout.
const timeoutSetting = "query.statementTimeoutMs"

// readFlush is the one flush of a read: named steps of a READ ONLY transaction, and a segment that
// rolls it back and drops the advisory locks that a ROLLBACK leaves.
type readFlush struct {
	steps wire.Segment
	names []string
	mark  string
}

func (f *readFlush) add(name string, step wire.Step) {
	f.steps = append(f.steps, step)
	f.names = append(f.names, name)
}

// newReadFlush begins the transaction. Everything the server reads afterwards is bounded by timeout.
func newReadFlush(s *Session, timeout time.Duration) *readFlush {
	f := &readFlush{mark: newMark()}
	f.add("begin", wire.Step{SQL: "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY"})
	ms := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
	f.add("set", wire.Step{SQL: readSetSQL, Params: text(
		ms(timeout), ms(min(timeout, readLockTimeout)), ms(2*timeout+10*time.Second), s.facts.role, f.mark)})
	return f
}

// agent adds agent text behind a prefix of ours, in whose grammar transaction control is an error.
// See TestS11GrammarIsAWall.
func (f *readFlush) agent(name, prefix, sql string, params [][]byte) {
	f.add(name, wire.Step{SQL: prefix + sql, Params: params, PrefixRunes: utf8.RuneCountInString(prefix)})
}

// witness fails the flush when a relation is locked that the guard did not see.
func (f *readFlush) witness(name string, closure []uint32, letSystemPass bool) {
	f.add(name, wire.Step{SQL: witnessSQL, Params: text(oidArray(closure), f.mark, strconv.FormatBool(letSystemPass))})
}

// routines fails the flush when a function is no longer as volatile as the guard was told.
func (f *readFlush) routines(list []sqlguard.Routine) {
	var oids []uint32
	var volatility []string
	for _, r := range list {
		if r.OID >= firstUserOID {
			oids = append(oids, r.OID)
			volatility = append(volatility, string(r.Volatility))
		}
	}
	if len(oids) > 0 {
		f.add("routines", wire.Step{SQL: routinesSQL, Params: [][]byte{
			[]byte(oidArray(oids)), textArray(volatility), []byte(f.mark),
		}})
	}
}

// send runs the flush. It returns the first segment's reply; a connection whose state is not
// certain afterwards is discarded.
func (f *readFlush) send(ctx context.Context, s *Session, sink rowSink) ([]wire.Reply, error) {
	replies, err := s.flush(ctx, []wire.Segment{f.steps, {
		{SQL: "ROLLBACK"}, {SQL: "SELECT pg_catalog.pg_advisory_unlock_all()"},
	}}, sink)
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

// failed names the step that a reply's error belongs to, "" without one.
func (f *readFlush) failed(r wire.Reply) string {
	if r.Err == nil || len(r.Results) >= len(f.names) {
		return ""
	}
	return f.names[len(r.Results)]
}

// position is the index of a step.
func (f *readFlush) position(name string) int {
	for i, n := range f.names {
		if n == name {
			return i
		}
	}
	return -1
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
	step := f.failed(r)
	if r.Err.SQLState == "22P02" && strings.Contains(r.Err.Message, f.mark) {
		switch step {
		case "set":
			s.Discard()
			return refusal.New(refusal.DatabaseUnavailable,
				"the server connection does not have the role or the settings that were checked",
				"the operator should look at the connection pooler; then call again")
		case "routines":
			s.pool.catalog.forget()
			return refusal.New(refusal.FunctionNotAllowed, "a function that the statement calls was just changed", "call again")
		default:
			s.pool.catalog.forget()
			s.pool.db.log.Warn("a read touched relations that were not recognised", "pool", s.pool.role.String(), "step", step)
			return refusal.New(refusal.TableNotAllowlisted,
				"the statement reads a table that is not allowlisted, or that could not be recognised in its text",
				"write schema-qualified names of tables that describe_schema shows, and leave out functions that read other tables")
		}
	}
	o := wire.RefuseOptions{
		Fallback: fallback, TimeoutSetting: timeoutSetting,
		LockSetting: "the limit for reads (" + readLockTimeout.String() + ")",
	}
	if step == "begin" || step == "set" {
		o.Fallback = refusal.DatabaseUnavailable
	}
	return wire.Refuse(r.Err, o)
}

// newMark is a random text for errors that a step raises on purpose, so that an agent's own bad
// cast is never taken for one of ours.
func newMark() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "sw_" + hex.EncodeToString(b[:]) + " "
}

func oidArray(oids []uint32) string {
	b := []byte{'{'}
	for i, oid := range oids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(oid), 10)
	}
	return string(append(b, '}'))
}

// encodeFor renders a statement's parameters; what the server says of them is a refusal.
func (s *Session) encodeFor(ctx context.Context, st *sqlguard.Statement, fallback refusal.Code) ([][]byte, error) {
	params, err := s.EncodeParams(ctx, st.SQL(), st.Params())
	var refused *wire.ServerError
	if errors.As(err, &refused) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("asking for parameter types: %w", ctx.Err())
		}
		return nil, wire.Refuse(refused, wire.RefuseOptions{Fallback: fallback, TimeoutSetting: timeoutSetting, LockSetting: "the limit for reads"})
	}
	return params, err
}

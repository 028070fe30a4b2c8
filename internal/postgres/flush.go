package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// maxParams is what a Bind message can count (PostgreSQL manual, 55.7: Int16, read unsigned). One
// more and the driver loses the connection, so it is checked before anything is sent.
const maxParams = 65535

// A function that raises notices in a loop must not fill our memory.
const (
	maxNotices     = 1000
	maxNoticeBytes = 256 << 10
)

// rowSink takes the rows of a step as they arrive. row is valid only during the call. Without a
// sink rows are kept in the step's Result.
type rowSink func(segment, step int, columns []wire.Column, row [][]byte)

// Flush implements [wire.Flush]: all segments go out in one write, each behind it its own Sync.
//
// A text that must not be sent (a NUL byte, text that is not UTF-8, too many parameters) is a
// refusal, and nothing was sent. If ctx has ended already, its error comes back and nothing was
// sent either. See TestSeamPreviewAndExecuteInPipelines.
func (s *Session) Flush(ctx context.Context, segments ...wire.Segment) ([]wire.Reply, error) {
	return s.flush(ctx, segments, nil)
}

func (s *Session) flush(ctx context.Context, segments []wire.Segment, sink rowSink) ([]wire.Reply, error) {
	if err := sendable(segments); err != nil {
		return nil, err
	}
	if len(segments) == 0 {
		return nil, nil
	}
	p := s.pc.StartPipeline(ctx)
	for i, segment := range segments {
		for _, step := range segment {
			if step.ParseOnly {
				p.SendPrepare("", step.SQL, nil)
				continue
			}
			p.SendQueryParams(step.SQL, step.Params, nil, nil, nil)
		}
		if i < len(segments)-1 {
			p.SendPipelineSync()
		}
	}
	if err := p.Sync(); err != nil {
		_ = p.Close()
		return nil, notSent(ctx, err)
	}
	replies, err := s.receive(p, segments, sink)
	// Close waits for a cancel request in flight, so that it cannot hit the next call.
	closeErr := p.Close()
	var pgErr *pgconn.PgError
	if err == nil && closeErr != nil && !errors.As(closeErr, &pgErr) {
		err = lost(closeErr)
	}
	if err == nil {
		if err = s.pool.opened(segments, replies); err != nil {
			s.Discard()
		}
	}
	return replies, err
}

// notSent explains why nothing was answered: the context had ended before, or the write failed.
func notSent(ctx context.Context, err error) error {
	if ctx.Err() != nil && pgconn.SafeToRetry(err) {
		return fmt.Errorf("sending nothing: %w", ctx.Err())
	}
	return lost(err)
}

func lost(err error) error {
	return fmt.Errorf("%w: %w", wire.ErrConnectionLost, err)
}

// receive reads until the last Sync. The n-th result of a segment belongs to its n-th step; after
// an error the server skips to the Sync and sends nothing for the skipped steps.
func (s *Session) receive(p *pgconn.Pipeline, segments []wire.Segment, sink rowSink) ([]wire.Reply, error) {
	replies := make([]wire.Reply, 0, len(segments))
	defer s.collector.stop()
	cancels := cancelsOf(s.pc)
	for i, segment := range segments {
		replies = append(replies, wire.Reply{})
		reply := &replies[i]
		s.collector.start(&reply.Notices)
		for synced := false; !synced; {
			got, err := p.GetResults()
			if err == nil {
				switch r := got.(type) {
				case *pgconn.PipelineSync:
					cancels.heard()
					reply.TxStatus = s.pc.TxStatus()
					synced = true
					continue
				case *pgconn.StatementDescription:
					reply.Results = append(reply.Results, wire.Result{})
					continue
				case *pgconn.ResultReader:
					var result wire.Result
					result, err = readResult(r, i, len(reply.Results), sink, cancels)
					if err == nil {
						reply.Results = append(reply.Results, result)
						continue
					}
				default:
					err = errors.New("the server stopped answering before the last Sync")
				}
			}
			var pgErr *pgconn.PgError
			if !errors.As(err, &pgErr) {
				return replies, lost(err)
			}
			cancels.heard()
			if reply.Err == nil {
				reply.Err = serverError(pgErr, prefixOf(segment, len(reply.Results)))
			}
			if s.pc.IsClosed() { // FATAL ends the connection with the answer
				return replies, lost(fmt.Errorf("the server ended it (SQLSTATE %s)", pgErr.Code))
			}
		}
	}
	return replies, nil
}

func readResult(r *pgconn.ResultReader, segment, step int, sink rowSink, cancels *cancelHandler) (wire.Result, error) {
	var result wire.Result
	fields := r.FieldDescriptions()
	if len(fields) > 0 {
		result.Columns = make([]wire.Column, len(fields))
		for i, f := range fields {
			result.Columns[i] = wire.Column{Name: f.Name, OID: f.DataTypeOID, Table: f.TableOID, Number: int16(f.TableAttributeNumber)} //nolint:gosec // an Int16 on the wire
		}
	}
	for r.NextRow() {
		cancels.alive()
		if sink != nil {
			sink(segment, step, result.Columns, r.Values())
			continue
		}
		result.Rows = append(result.Rows, copyRow(r.Values()))
	}
	tag, err := r.Close()
	if err != nil {
		return wire.Result{}, err
	}
	result.Tag = tag.String()
	return result, nil
}

// copyRow takes a row out of the driver's buffer, with one allocation for all its bytes.
func copyRow(values [][]byte) [][]byte {
	n := 0
	for _, v := range values {
		n += len(v)
	}
	buf := make([]byte, 0, n)
	row := make([][]byte, len(values))
	for i, v := range values {
		if v == nil {
			continue
		}
		start := len(buf)
		buf = append(buf, v...)
		row[i] = buf[start:len(buf):len(buf)]
	}
	return row
}

func prefixOf(segment wire.Segment, step int) int {
	if step < len(segment) {
		return segment[step].PrefixRunes
	}
	return 0
}

func serverError(e *pgconn.PgError, prefixRunes int) *wire.ServerError {
	severity := e.SeverityUnlocalized
	if severity == "" {
		severity = e.Severity
	}
	return &wire.ServerError{
		SQLState:   e.Code,
		Message:    strings.ToValidUTF8(e.Message, "\uFFFD"),
		Constraint: e.ConstraintName,
		Schema:     e.SchemaName,
		Table:      e.TableName,
		Column:     e.ColumnName,
		Position:   max(int(e.Position)-prefixRunes, 0),
		Fatal:      severity == "FATAL" || severity == "PANIC",
	}
}

// sendable refuses what would break the protocol. The driver writes a NUL byte in SQL raw and the
// server reads the rest as the tail of the message.
func sendable(segments []wire.Segment) error {
	for _, segment := range segments {
		for _, step := range segment {
			if err := sendableText(step.SQL); err != nil {
				return err
			}
			if len(step.Params) > maxParams {
				return refusal.New(refusal.InvalidInput,
					fmt.Sprintf("the statement has %d parameters; Postgres takes at most %d", len(step.Params), maxParams),
					"split it into several calls")
			}
		}
	}
	return nil
}

func sendableText(sql string) error {
	if strings.IndexByte(sql, 0) >= 0 {
		return refusal.New(refusal.InvalidInput, "the statement holds a NUL character (U+0000)",
			"remove it; Postgres cannot store it in text either")
	}
	if !utf8.ValidString(sql) {
		return refusal.New(refusal.InvalidInput, "the statement is not valid UTF-8", "send it as UTF-8 text")
	}
	return nil
}

// collector gathers the notices of the segment that is being read. The driver calls back on the
// goroutine that reads, so it needs no lock.
type collector struct {
	into  *[]wire.Notice
	bytes int
}

func (c *collector) start(into *[]wire.Notice) { c.into, c.bytes = into, 0 }
func (c *collector) stop()                     { c.into = nil }

func (c *collector) add(n *pgconn.Notice) {
	if c.into == nil || len(*c.into) >= maxNotices || c.bytes > maxNoticeBytes {
		return
	}
	severity := n.SeverityUnlocalized
	if severity == "" {
		severity = n.Severity
	}
	c.bytes += len(n.Message) + len(n.Detail)
	if c.bytes > maxNoticeBytes || len(*c.into) == maxNotices-1 {
		*c.into = append(*c.into, wire.Notice{Severity: "WARNING", SQLState: "01000", Message: "more notices were left out"})
		c.bytes = maxNoticeBytes + 1
		return
	}
	*c.into = append(*c.into, wire.Notice{
		Severity: severity, SQLState: n.Code,
		Message: strings.ToValidUTF8(n.Message, "\uFFFD"), Detail: strings.ToValidUTF8(n.Detail, "\uFFFD"),
	})
}

const collectorKey = "sw-notices"

func onNotice(pc *pgconn.PgConn, n *pgconn.Notice) {
	if c, ok := pc.CustomData()[collectorKey].(*collector); ok {
		c.add(n)
	}
}

// text makes parameters of strings.
func text(values ...string) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = []byte(v)
	}
	return slices.Clip(out)
}

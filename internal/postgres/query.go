package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// QueryLimits bound one query.
type QueryLimits struct {
	Rows    int           // rows returned; 0 = 1000
	Bytes   int64         // about the size of the rows as JSON; 0 = 1 MiB
	Timeout time.Duration // of planning and of running each, and a little more of both together; 0 = 10 s
}

// QueryResult holds rows by columns, every value as JSON (contract, "Values").
type QueryResult struct {
	Columns []string // unique: a, a_2
	Types   []string // format_type, of a domain its base type
	Rows    [][]json.RawMessage
	// Truncated is true only if there was more.
	Truncated bool
	// Shortened names the columns of which a cell was cut.
	Shortened []string
	// Hint says why the answer is short, when it is not the row limit.
	Hint string
	// Masked names the columns whose values are masked, and how.
	Masked []MaskedColumn
}

// MaskedColumn is a column of a result and how its values are masked.
type MaskedColumn struct {
	Column string
	As     sqlguard.MaskAs
}

// maxCell is where the text of one cell is cut.
const maxCell = 64 << 10

const declare = "DECLARE sw_c NO SCROLL CURSOR FOR "

// Query runs a checked read in one flush: READ ONLY, behind DECLARE CURSOR (there a COMMIT is a
// syntax error and a data-modifying WITH is refused), read with a bound, always rolled back. Before
// anything is planned, the relations that its names mean must be among those that the guard saw, and
// what the guard relied upon must still be so: else the refusal is joined with [wire.ErrStaleCatalog],
// this pool's catalog has forgotten what it knew, and the text can be guarded and run once more. After
// the rows the locks are looked at again, for what functions read. See TestStaleReadsAreTriedAgain.
//
// Refusals: QUERY_FAILED, STATEMENT_TIMEOUT, LOCK_TIMEOUT, TABLE_NOT_ALLOWLISTED, TOO_BUSY,
// DATABASE_UNAVAILABLE, INVALID_INPUT. See TestQueryIsOneRoundTrip, TestS21ABigQueryIsFlat.
func (p *Pool) Query(ctx context.Context, st *sqlguard.Statement, limits QueryLimits) (*QueryResult, error) {
	if st.Class() != sqlguard.Read {
		return nil, fmt.Errorf("running a statement of class %q as a query", st.Class())
	}
	if limits.Rows <= 0 {
		limits.Rows = 1000
	}
	if limits.Bytes <= 0 {
		limits.Bytes = 1 << 20
	}
	if limits.Timeout <= 0 {
		limits.Timeout = 10 * time.Second
	}
	more := false
	for range 4 {
		q := &query{statement: st, limits: limits}
		_, err := p.read(ctx, func(s *Session) ([]wire.Reply, error) { return q.run(ctx, s) })
		if err != nil && q.lost && ctx.Err() == nil {
			limits.Rows, more = len(q.rows), true // these are known to fit
			continue
		}
		if err != nil {
			return nil, err
		}
		q.result.Truncated = q.result.Truncated || more
		if !q.unwitnessed() {
			return q.result, nil
		}
		// The byte bound stopped the flush before its second witness, and the text calls functions
		// that may have read something. The same rows again, by number, so that it can testify.
		limits.Rows, more = len(q.result.Rows), true
	}
	return nil, refusal.New(refusal.QueryFailed, "the rows are so large, and change so quickly, that the answer could not be bounded",
		"select fewer or shorter columns")
}

// query is one attempt.
type query struct {
	statement *sqlguard.Statement
	limits    QueryLimits

	columns []wire.Column
	rows    [][][]byte
	cut     map[int][]int // by row, the columns of the cells that were shortened
	bytes   int64
	sent    int64 // what came over the wire

	masks  []sqlguard.MaskAs // by column, once the columns are known and anything is masked
	denied error             // what the guard and the server say of masked columns differs

	more     bool // there was a row that was not kept
	stopped  bool // because of the byte bound
	unproven bool // the second witness did not run
	lost     bool // the connection was, while it was being stopped: the server went on sending
	result   *QueryResult
}

func (q *query) run(ctx context.Context, s *Session) ([]wire.Reply, error) {
	*q = query{statement: q.statement, limits: q.limits, cut: map[int][]int{}}
	// statement_timeout is of each FETCH; this is of all, and for a server that does not answer.
	bounded, cancel := context.WithTimeout(ctx, q.limits.Timeout+2*time.Second)
	defer cancel()
	params, err := s.encodeFor(bounded, q.statement, refusal.QueryFailed)
	if err != nil {
		return nil, err
	}
	closure := q.statement.LockClosure()
	f := newReadFlush(s, q.limits.Timeout)
	f.forget, f.hide = q.statement.CallsOutside(), q.statement.Masking()
	f.resolve(q.statement.SQL(), closure, q.statement.Facts())
	f.agent("declare", declare, q.statement.SQL(), params)
	fetch, steps := f.fetch(q.limits.Rows + 1)
	f.Add("witness2", wire.WitnessScope(closure, q.statement.Scope(), f.mark))

	running, stop := context.WithCancel(bounded)
	defer stop()
	replies, err := f.send(running, s, func(segment, step int, columns []wire.Column, row [][]byte) {
		if segment == 0 && step >= fetch && step < fetch+steps {
			q.take(columns, row, stop)
		}
	})
	if err != nil {
		q.lost = q.stopped && errors.Is(err, wire.ErrConnectionLost)
		return replies, err
	}
	reply := replies[0]
	if q.stopped && reply.Err != nil && reply.Err.SQLState == "57014" && ctx.Err() == nil {
		reply.Err, q.unproven = nil, true // our own cancel, before the second witness
	} else if err := f.refuse(ctx, s, reply, refusal.QueryFailed); err != nil {
		return replies, err
	}
	if q.columns == nil && len(reply.Results) > fetch {
		q.know(reply.Results[fetch].Columns)
	}
	if q.denied != nil {
		return replies, q.denied
	}
	return replies, q.render(bounded, s)
}

// take keeps one row, bounded. stop cancels the running FETCH.
func (q *query) take(columns []wire.Column, row [][]byte, stop func()) {
	if q.columns == nil {
		q.know(columns)
	}
	if q.denied != nil {
		return
	}
	if q.stopped || q.more {
		return
	}
	if len(q.rows) == q.limits.Rows {
		q.more = true
		return
	}
	for _, v := range row {
		q.sent += int64(len(v))
	}
	row = q.masked(row)
	limit := maxCell
	size := q.size(row, limit)
	if len(q.rows) == 0 && size > q.limits.Bytes { // one row is always shown, if need be with less of each cell
		limit = max(int(q.limits.Bytes)/(2*len(row)), 64)
		size = q.size(row, limit)
	}
	if len(q.rows) > 0 && (q.bytes+size > q.limits.Bytes || q.sent > sentTimes*q.limits.Bytes) {
		q.more, q.stopped = true, true
		stop()
		return
	}
	q.bytes += size
	if !slices.ContainsFunc(row, func(v []byte) bool { return len(v) > limit }) {
		q.rows = append(q.rows, copyRow(row))
		return
	}
	kept := make([][]byte, len(row))
	for i, v := range row {
		switch {
		case v == nil:
		case len(v) > limit:
			kept[i] = shorten(v, limit, len(v))
			q.cut[len(q.rows)] = append(q.cut[len(q.rows)], i)
		default:
			kept[i] = append(make([]byte, 0, len(v)), v...)
		}
	}
	q.rows = append(q.rows, kept)
}

// size estimates a row as a JSON object.
func (q *query) size(row [][]byte, cell int) int64 {
	n := 3
	for i, v := range row {
		n += len(q.columns[i].Name) + 6 + min(len(v), cell)
	}
	return int64(n)
}

// shorten cuts v to at most limit bytes, at the end of a character, and says how long it was.
func shorten(v []byte, limit, length int) []byte {
	cut := min(limit, len(v))
	for cut > 0 && cut < len(v) && !utf8.RuneStart(v[cut]) {
		cut--
	}
	return fmt.Appendf(slices.Clone(v[:cut:cut]), "… (%d bytes)", length)
}

// render turns the kept rows into the result and holds the byte bound once more, now on the JSON.
func (q *query) render(ctx context.Context, s *Session) error {
	types, err := s.typesOf(ctx, oidsOf(q.columns))
	if err != nil {
		return err
	}
	r := &QueryResult{Columns: uniqueNames(q.columns), Rows: make([][]json.RawMessage, 0, len(q.rows)), Truncated: q.more}
	names := int64(3)
	for j, c := range q.columns {
		r.Types = append(r.Types, types[c.OID].name)
		names += int64(len(r.Columns[j]) + 4)
	}
	row := newRowRenderer(q.columns, types)
	for j, as := range q.masks {
		if as != "" {
			row.columns[j] = typeInfo{kind: kindText}
			r.Masked = append(r.Masked, MaskedColumn{r.Columns[j], as})
		}
	}
	shortened := make([]bool, len(q.columns))
	var total int64
	for i, values := range q.rows {
		cut := q.cut[i]
		out := row.render(values, cut)
		size := names
		for _, v := range out {
			size += int64(len(v))
		}
		if i > 0 && total+size > q.limits.Bytes { // escapes made it longer than estimated
			r.Truncated, q.stopped = true, true
			break
		}
		total += size
		for _, j := range cut {
			shortened[j] = true
		}
		r.Rows = append(r.Rows, out)
	}
	for j, name := range r.Columns {
		if shortened[j] {
			r.Shortened = append(r.Shortened, name)
		}
	}
	if q.stopped {
		r.Hint = fmt.Sprintf("These %d rows are as many as fit into query.maxBytes (%d bytes); there are more. Select fewer or shorter columns, or page by a key.",
			len(r.Rows), q.limits.Bytes)
	}
	q.result = r
	return nil
}

// unwitnessed tells whether the byte bound cut the second witness off where functions outside
// pg_catalog may have read something.
func (q *query) unwitnessed() bool {
	return q.unproven && q.statement.CallsOutside()
}

// uniqueNames gives columns of equal name a suffix that no other column has.
func uniqueNames(columns []wire.Column) []string {
	taken := map[string]bool{}
	for _, c := range columns {
		taken[c.Name] = true
	}
	used := map[string]bool{}
	out := make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		for k := 2; used[name]; k++ {
			if try := fmt.Sprintf("%s_%d", c.Name, k); !taken[try] && !used[try] {
				name = try
			}
		}
		used[name] = true
		out[i] = name
	}
	return out
}

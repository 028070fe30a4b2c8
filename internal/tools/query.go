package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const queryUsage = "query takes statement (string), params (array), limit (integer) and reason (string); statement and reason are required."

func query(d Deps) Tool {
	return Tool{
		Name: "query", Title: "Run a read-only query",
		Description: fmt.Sprintf(`Run one SELECT (or VALUES, TABLE, WITH … SELECT) in a READ ONLY transaction that is always rolled back. Values go into params as $1, $2, …, never into the text.

At most %s rows come back (limit may ask for fewer); truncated says whether there were more: aggregate in SQL instead of reading everything. bigint, numeric and money come as strings with every digit; give such values back as strings. Statements that change anything are refused: use delete_rows, insert_rows, update_rows or run_migration.`, grouped(int64(d.Limits.QueryRows))),
		Schema: object(`"statement","reason"`,
			`"statement":{"type":"string","description":"One SELECT statement."},`+paramsProperty+
				`,"limit":{"type":"integer","description":"The most rows to return, at least 1."},`+reasonProperty),
		Hints: Hints{ReadOnly: true, Destructive: false, Idempotent: true, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a struct {
				Statement *string           `json:"statement"`
				Params    []json.RawMessage `json:"params" lenient:"json"`
				Limit     *int              `json:"limit"`
				Reason    *string           `json:"reason"`
			}
			if err := decode(queryUsage, call.Arguments, &a); err != nil {
				return nil, err
			}
			reason, err := reasonOf(a.Reason)
			if err != nil {
				return nil, err
			}
			if a.Statement == nil {
				return nil, missing(queryUsage, "statement")
			}
			limits := QueryLimits{Rows: d.Limits.QueryRows, Bytes: d.Limits.QueryBytes, Timeout: d.Limits.QueryTimeout}
			if a.Limit != nil {
				if *a.Limit < 1 {
					return nil, invalid(queryUsage, "limit: must be at least 1")
				}
				limits.Rows = min(limits.Rows, *a.Limit)
			}
			var result *QueryResult
			err = d.read(ctx, ReadEvent{Tool: "query", Reason: reason, Statement: *a.Statement, Params: a.Params},
				func(st *sqlguard.Statement) (rows int64, err error) {
					if result, err = d.Reads.Query(ctx, st, limits); err != nil {
						return 0, err
					}
					return int64(len(result.Rows)), nil
				})
			if err != nil {
				return nil, err
			}
			return renderRows(result)
		},
	}
}

// read guards a text and runs it, a second time with fresh facts if Postgres resolved a name
// otherwise than the cached facts said, and records it where reads are recorded.
func (d Deps) read(ctx context.Context, e ReadEvent, run func(*sqlguard.Statement) (rows int64, err error)) error {
	started := time.Now()
	guard := func(cat sqlguard.Catalog) (*sqlguard.Statement, error) {
		return d.Text.Read(ctx, cat, e.Statement, e.Params)
	}
	st, err := checked(d.ReadonlyCatalog, guard)
	if err == nil {
		if e.Rows, err = run(st); err != nil && stale(err) {
			if st, err = guard(&watched{Catalog: d.ReadonlyCatalog, fresh: true}); err == nil {
				e.Rows, err = run(st)
			}
		}
	}
	if err != nil {
		err = d.nearer(ctx, d.ReadonlyCatalog, st, err)
	}
	if d.RecordRead != nil {
		e.Duration, e.Err = time.Since(started), err
		d.RecordRead(ctx, e)
	}
	return err
}

// renderRows writes the rows as objects whose keys keep the column order. It writes by hand: a map
// would sort the keys, and the values are JSON already.
func renderRows(r *QueryResult) (json.RawMessage, error) {
	names := unique(r.Columns)
	keys := make([][]byte, len(names))
	for i, n := range names {
		k, err := plainJSON(n)
		if err != nil {
			return nil, fmt.Errorf("rendering a column name: %w", err)
		}
		keys[i] = append(k, ':')
	}
	head, err := plainJSON(struct {
		Columns []string `json:"columns"`
		Types   []string `json:"column_types"`
	}{some(names), some(r.Types)})
	if err != nil {
		return nil, fmt.Errorf("rendering the columns: %w", err)
	}
	var b bytes.Buffer
	b.Grow(sizeOf(r.Rows, keys) + len(head) + 1024)
	b.Write(head[:len(head)-1])
	b.WriteString(`,"rows":[`)
	for i, row := range r.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('{')
		if len(row) != len(keys) {
			return nil, fmt.Errorf("rendering row %d: it has %d values for %d columns", i, len(row), len(keys))
		}
		for j, v := range row {
			if j > 0 {
				b.WriteByte(',')
			}
			b.Write(keys[j])
			b.Write(v)
		}
		b.WriteByte('}')
	}
	fmt.Fprintf(&b, `],"row_count":%d,"truncated":%t`, len(r.Rows), r.Truncated)
	if len(r.Masked) > 0 {
		list, err := plainJSON(r.Masked)
		if err != nil {
			return nil, fmt.Errorf("rendering the masked columns: %w", err)
		}
		b.WriteString(`,"masked":`)
		b.Write(list)
	}
	if hint := rowsHint(r); hint != "" {
		text, err := plainJSON(hint)
		if err != nil {
			return nil, fmt.Errorf("rendering the hint: %w", err)
		}
		b.WriteString(`,"hint":`)
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// sizeOf is how long the rows will be as objects.
func sizeOf(rows [][]json.RawMessage, keys [][]byte) int {
	perRow := 3
	for _, k := range keys {
		perRow += len(k) + 1
	}
	n := perRow * len(rows)
	for _, row := range rows {
		for _, v := range row {
			n += len(v)
		}
	}
	return n
}

// rowsHint says what is missing from the rows and how to get it.
func rowsHint(r *QueryResult) string {
	var hints []string
	if r.Hint != "" {
		hints = append(hints, r.Hint)
	} else if r.Truncated {
		hints = append(hints, fmt.Sprintf("There are more rows than these %s. Aggregate or filter in SQL, or page by a key: WHERE id > $1 ORDER BY id.", grouped(int64(len(r.Rows)))))
	}
	if len(r.Masked) > 0 {
		hints = append(hints, "The values of the columns in masked are hidden from you by the operator, and what stands in their place is no value of theirs. Such a column can be compared as column = $1 and tested with IS NULL.")
	}
	if len(r.Shortened) > 0 {
		hints = append(hints, fmt.Sprintf("Long values were cut in: %s. Ask for a part with substr(column, from, length).", strings.Join(r.Shortened, ", ")))
	}
	return strings.Join(hints, " ")
}

// unique gives columns of equal name a suffix that no other column has, so that no value is lost:
// a, a becomes a, a_2.
func unique(names []string) []string {
	taken := make(map[string]bool, len(names))
	for _, n := range names {
		taken[n] = true
	}
	used := make(map[string]bool, len(names))
	out := make([]string, len(names))
	for i, n := range names {
		name := n
		for k := 2; used[name]; k++ {
			if try := fmt.Sprintf("%s_%d", n, k); !taken[try] && !used[try] {
				name = try
			}
		}
		used[name] = true
		out[i] = name
	}
	return out
}

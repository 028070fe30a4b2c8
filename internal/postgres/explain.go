package postgres

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

const explainPrefix = "EXPLAIN (FORMAT JSON) DECLARE sw_c NO SCROLL CURSOR FOR "

//go:embed explain_scanned.sql
var explainScannedSQL string

// Explained is Postgres' plan of a read.
type Explained struct {
	Plan json.RawMessage // Postgres' own JSON array
	// Scanned are the tables that the plan may name, outside the system schemas.
	Scanned []Scanned
}

// Scanned is one table of a plan.
type Scanned struct {
	Schema, Name string
	Bytes        int64  // of its main fork: what a sequential scan reads
	Rows         *int64 // pg_class.reltuples; nil when never analysed
	// RootSchema and Root name the partitioned table that it is a partition of, at any depth; else empty.
	RootSchema, Root string
	// Hidden says that it may not be read by itself: a view leads to it. The plan then names no hidden
	// table.
	Hidden bool
}

// Explain returns Postgres' plan of a checked read. The statement is planned, not run, in a READ ONLY
// transaction that is rolled back. Behind DECLARE no ANALYZE and no other statement fits;
// cursor_tuple_fraction 1 makes it the plan of reading all rows.
//
// mayRead is the allowlist's verdict. Where a view leads to a table that is hidden, the plan keeps its
// shape and its estimates and loses names and conditions. See TestExplainHidesWhatIsBelowViews.
//
// Refusals as [Pool.Query], with EXPLAIN_FAILED for what is about the statement.
func (p *Pool) Explain(ctx context.Context, st *sqlguard.Statement, timeout time.Duration, mayRead func(schema, name string) bool) (*Explained, error) {
	if st.Class() != sqlguard.Read {
		return nil, fmt.Errorf("explaining a statement of class %q", st.Class())
	}
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	var out *Explained
	_, err := p.read(ctx, func(s *Session) ([]wire.Reply, error) {
		bounded, cancel := context.WithTimeout(ctx, timeout+5*time.Second)
		defer cancel()
		params, err := s.encodeFor(bounded, st, refusal.ExplainFailed)
		if err != nil {
			return nil, err
		}
		f := newReadFlush(s, timeout)
		f.hide = st.Masking()
		f.Add("fraction", wire.Step{SQL: "SELECT pg_catalog.set_config('cursor_tuple_fraction', '1', true)"})
		f.resolve(st.SQL(), st.LockClosure(), st.Facts())
		f.agent("explain", explainPrefix, st.SQL(), params)
		f.Add("scanned", wire.Step{SQL: explainScannedSQL})
		replies, err := f.send(bounded, s, nil)
		if err != nil {
			return replies, err
		}
		if err := f.refuse(ctx, s, replies[0], refusal.ExplainFailed); err != nil {
			return replies, err
		}
		out, err = readPlan(replies[0].Results[f.Index("explain")].Rows, replies[0].Results[f.Index("scanned")].Rows, mayRead)
		return replies, err
	})
	return out, err
}

func readPlan(plan, scanned [][][]byte, mayRead func(schema, name string) bool) (*Explained, error) {
	if len(plan) != 1 || len(plan[0]) != 1 || !json.Valid(plan[0][0]) {
		return nil, errors.New("reading a plan: it is not one JSON value")
	}
	out := &Explained{Plan: plan[0][0]}
	hidden := map[string]bool{}
	for _, row := range scanned {
		t := Scanned{Schema: string(row[0]), Name: string(row[1]), RootSchema: string(row[4]), Root: string(row[5])}
		var err error
		if t.Bytes, err = strconv.ParseInt(string(row[2]), 10, 64); err != nil {
			return nil, fmt.Errorf("reading the size of %s.%s: %w", t.Schema, t.Name, err)
		}
		if row[3] != nil {
			n, err := strconv.ParseInt(string(row[3]), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("reading the rows of %s.%s: %w", t.Schema, t.Name, err)
			}
			t.Rows = &n
		}
		// A partition is read as part of its table, which the allowlist names.
		t.Hidden = !mayRead(t.Schema, t.Name) && (t.Root == "" || !mayRead(t.RootSchema, t.Root))
		if t.Hidden {
			hidden[t.Name] = true
		}
		out.Scanned = append(out.Scanned, t)
	}
	if len(hidden) == 0 {
		return out, nil
	}
	var err error
	out.Plan, err = withoutNames(out.Plan, hidden)
	return out, err
}

// nameless are the fields of a plan's nodes that hold no name and no condition (PostgreSQL manual,
// EXPLAIN).
var nameless = map[string]bool{
	"Node Type": true, "Parent Relationship": true, "Strategy": true, "Partial Mode": true, "Join Type": true, "Command": true,
	"Operation": true, "Scan Direction": true, "Parallel Aware": true, "Async Capable": true, "Inner Unique": true, "Single Copy": true,
	"Startup Cost": true, "Total Cost": true, "Plan Rows": true, "Plan Width": true, "Workers Planned": true, "Planned Partitions": true,
	"Subplans Removed": true, "Disabled": true, "Plan": true, "Plans": true, "Relation Name": true,
}

// withoutNames keeps of a plan what names no hidden table and quotes no condition.
func withoutNames(plan json.RawMessage, hidden map[string]bool) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(plan))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	strip(v, hidden)
	out, err := lineJSON(v)
	if err != nil {
		return nil, fmt.Errorf("writing a plan: %w", err)
	}
	return out, nil
}

// hiddenName stands for the name of a hidden table in a plan.
const hiddenName = "(hidden)"

func strip(v any, hidden map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			strip(x, hidden)
		}
	case map[string]any:
		for key, x := range v {
			name, isText := x.(string)
			switch {
			case !nameless[key]:
				delete(v, key)
			case key == "Relation Name" && (!isText || hidden[name]):
				v[key] = hiddenName
			default:
				strip(x, hidden)
			}
		}
	}
}

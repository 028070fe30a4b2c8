package tools

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// A sequential scan is worth a warning from so many bytes or so many rows on that it is expected to
// read, all partitions of a table together. Below that an index saves milliseconds.
const (
	seqScanBytes = 8 << 20
	seqScanRows  = 100_000
)

// node is what is read of one node of Postgres' plan (manual, "EXPLAIN", FORMAT JSON).
type node struct {
	Type         string      `json:"Node Type"`
	Relation     string      `json:"Relation Name"`
	Relationship string      `json:"Parent Relationship"`
	Filter       string      `json:"Filter"`
	StartupCost  json.Number `json:"Startup Cost"`
	TotalCost    json.Number `json:"Total Cost"`
	Rows         json.Number `json:"Plan Rows"`
	Plans        []node      `json:"Plans"`
}

func readNodes(explained json.RawMessage) (*node, error) {
	var top []struct {
		Plan *node `json:"Plan"`
	}
	if err := json.Unmarshal(explained, &top); err != nil || len(top) != 1 || top[0].Plan == nil {
		return nil, fmt.Errorf("reading Postgres' plan: it has another shape than one object with a Plan (%w)", err)
	}
	return top[0].Plan, nil
}

// scan is what sequential scans are expected to read of one table.
type scan struct {
	name     string
	parts    map[string]float64 // by table or partition, the largest part that one scan reads
	tables   map[string]Scanned
	filtered bool
	hidden   bool
}

// seqScans warns of the sequential scans that read much: those of sub-plans, CTEs, parallel workers and
// the partitions of one table too. A scan below a LIMIT counts for the part that is expected to be read.
func seqScans(root *node, tables []Scanned) []plan.Warning {
	byName := map[string][]Scanned{}
	for _, t := range tables {
		name := t.Name
		if t.Hidden {
			name = "(hidden)"
		}
		byName[name] = append(byName[name], t)
	}
	var order []string
	scans := map[string]*scan{}
	walk(root, 1, func(n *node, part float64) {
		if n.Type != "Seq Scan" {
			return
		}
		t, ok := largest(byName[n.Relation])
		if !ok {
			return // the system's
		}
		name := sqlguard.QuoteName(t.Schema, t.Name)
		if t.Root != "" {
			name = sqlguard.QuoteName(t.RootSchema, t.Root)
		}
		s := scans[name]
		if s == nil {
			s = &scan{name: name, hidden: t.Hidden, parts: map[string]float64{}, tables: map[string]Scanned{}}
			scans[name], order = s, append(order, name)
		}
		leaf := sqlguard.QuoteName(t.Schema, t.Name)
		s.tables[leaf], s.parts[leaf] = t, max(s.parts[leaf], part)
		s.filtered = s.filtered || n.Filter != ""
	})
	warnings := []plan.Warning{}
	for _, name := range order {
		s := scans[name]
		if bytes, rows, unknown := s.reads(); bytes >= seqScanBytes || rows >= seqScanRows {
			warnings = append(warnings, plan.Warning{Code: plan.WarnSeqScan, Message: s.message(bytes, rows, unknown)})
		}
	}
	return warnings
}

// largest decides between tables of one name in different schemas: a plan names no schema.
func largest(list []Scanned) (Scanned, bool) {
	if len(list) == 0 {
		return Scanned{}, false
	}
	out := list[0]
	for _, t := range list[1:] {
		if t.Bytes > out.Bytes {
			out = t
		}
	}
	return out, true
}

// reads adds the parts up. unknown says that some of it was never analysed.
func (s *scan) reads() (bytes, rows float64, unknown bool) {
	for leaf, part := range s.parts {
		t := s.tables[leaf]
		bytes += part * float64(t.Bytes)
		if t.Rows == nil {
			unknown = true
		} else {
			rows += part * float64(*t.Rows)
		}
	}
	return bytes, rows, unknown
}

func (s *scan) message(bytes, rows float64, unknown bool) string {
	advice := "Nothing narrows it down, so every row is read."
	if s.filtered || s.hidden {
		advice = "If this runs often, an index on the columns that are compared would help."
	}
	if s.hidden {
		return "A sequential scan reads a large table below a view. " + advice
	}
	what := s.name
	for _, t := range s.tables {
		if t.Root != "" {
			what = fmt.Sprintf("%d of the partitions of %s", len(s.tables), s.name)
		}
	}
	known := fmt.Sprintf("about %s rows", grouped(int64(math.Round(rows))))
	if unknown {
		known = "never analysed, so its rows are not known"
	}
	return fmt.Sprintf("A sequential scan reads %s (%s, %s). %s", what, megabytes(bytes), known, advice)
}

func megabytes(bytes float64) string {
	if bytes < 10<<20 {
		return fmt.Sprintf("%.1f MB", bytes/(1<<20))
	}
	return grouped(int64(math.Round(bytes/(1<<20)))) + " MB"
}

// walk visits every node with the part of it that is expected to be read. The costs tell: a LIMIT costs
// the part of its child that it reads, and a node that cannot begin before its child has ended (a sort, a
// hash, an aggregate) reads all of it.
func walk(n *node, part float64, visit func(n *node, part float64)) {
	visit(n, part)
	for i := range n.Plans {
		child := &n.Plans[i]
		below := part
		switch start, end := cost(child.StartupCost), cost(child.TotalCost); {
		case child.Relationship == "InitPlan" || child.Relationship == "SubPlan":
			below = 1
		case n.Type == "Limit" && end > start:
			below *= min(max((cost(n.TotalCost)-start)/(end-start), 0), 1)
		case cost(n.StartupCost) >= end*0.999:
			below = 1
		}
		walk(child, below, visit)
	}
}

func cost(n json.Number) float64 {
	f, err := n.Float64()
	if err != nil {
		return 0
	}
	return f
}

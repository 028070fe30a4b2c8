package postgres

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

//go:embed describe.sql
var describeSQL string

// DescribeRequest names what to describe, as Postgres spells it. Empty means everything outside the
// system schemas.
type DescribeRequest struct {
	Schema, Table string
	// Full asks for columns, keys, indexes and the rest, else only names, kinds and estimates come.
	Full bool
	// MayRead and MayWrite are the allowlists' verdicts. What MayRead hides does not exist: neither
	// as an entry nor as the target of a foreign key.
	MayRead, MayWrite func(schema, name string) bool
}

// Described is one relation and its entry as the contract's describe_schema has it.
type Described struct {
	Schema, Table string
	Entry         json.RawMessage
}

type entry struct {
	Schema           string          `json:"schema"`
	Table            string          `json:"table"`
	Kind             string          `json:"kind"`
	Comment          json.RawMessage `json:"comment,omitempty"`
	RowCountEstimate *json.Number    `json:"rowCountEstimate"`
	Writable         bool            `json:"writable"`
	*details
}

type details struct {
	Columns     json.RawMessage `json:"columns"`
	PrimaryKey  json.RawMessage `json:"primaryKey"`
	ForeignKeys []foreignKey    `json:"foreignKeys"`
	Unique      json.RawMessage `json:"unique"`
	Checks      json.RawMessage `json:"checks"`
	Indexes     json.RawMessage `json:"indexes"`
	Triggers    json.RawMessage `json:"triggers"`
	Partitions  json.RawMessage `json:"partitions"`
}

type foreignKey struct {
	ConstraintName   string `json:"constraintName"`
	Column           string `json:"column"`
	ReferencesSchema string `json:"referencesSchema"`
	ReferencesTable  string `json:"referencesTable"`
	ReferencesColumn string `json:"referencesColumn"`
	OnDelete         string `json:"onDelete"`
	OnUpdate         string `json:"onUpdate"`
}

// Describe lists relations, ordered by schema and name, from pg_catalog only. A name that does not
// exist, or is hidden, gives an empty list. A relation the role may not SELECT from is listed only
// if it may be written to.
func (p *Pool) Describe(ctx context.Context, req DescribeRequest) ([]Described, error) {
	replies, err := p.read(ctx, func(s *Session) ([]wire.Reply, error) {
		full := "false"
		if req.Full {
			full = "true"
		}
		return s.Flush(ctx, wire.Segment{
			{SQL: "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"},
			{SQL: catalogTimeouts},
			{SQL: describeSQL, Params: text(req.Schema, req.Table, full)},
		}, wire.Segment{{SQL: "ROLLBACK"}})
	})
	if err != nil {
		return nil, err
	}
	if e := replies[0].Err; e != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("describing: %w", ctx.Err())
		}
		return nil, wire.Refuse(e, wire.RefuseOptions{
			Fallback: refusal.QueryFailed, TimeoutSetting: "the limit for describing (10 s)", LockSetting: "the limit for reads",
		})
	}
	rows := replies[0].Results[2].Rows
	out := make([]Described, 0, len(rows))
	for _, row := range rows {
		d, shown, err := req.entry(row)
		if err != nil {
			return nil, fmt.Errorf("describing %s.%s: %w", row[0], row[1], err)
		}
		if shown {
			out = append(out, d)
		}
	}
	return out, nil
}

func (req DescribeRequest) entry(row [][]byte) (_ Described, shown bool, _ error) {
	e := entry{Schema: string(row[0]), Table: string(row[1]), Kind: string(row[2])}
	if !req.MayRead(e.Schema, e.Table) {
		return Described{}, false, nil
	}
	e.Writable = isTrue(row[4]) && req.MayWrite(e.Schema, e.Table)
	if row[5] != nil && e.Writable {
		var bases [][3]string
		if err := json.Unmarshal(row[5], &bases); err != nil {
			return Described{}, false, err
		}
		for _, b := range bases {
			if b[2] == "f" || b[2] != "v" && !req.MayWrite(b[0], b[1]) {
				e.Writable = false
			}
		}
	}
	if !isTrue(row[3]) && !e.Writable {
		return Described{}, false, nil
	}
	if row[6] != nil {
		n := json.Number(row[6])
		e.RowCountEstimate = &n
	}
	if row[7] != nil {
		var d struct {
			details
			Comment json.RawMessage `json:"comment"`
		}
		if err := json.Unmarshal(row[7], &d); err != nil {
			return Described{}, false, err
		}
		visible := d.ForeignKeys[:0]
		for _, k := range d.ForeignKeys {
			if req.MayRead(k.ReferencesSchema, k.ReferencesTable) {
				visible = append(visible, k)
			}
		}
		d.ForeignKeys = visible
		e.details, e.Comment = &d.details, d.Comment
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // definitions hold < and >
	if err := enc.Encode(e); err != nil {
		return Described{}, false, err
	}
	return Described{Schema: e.Schema, Table: e.Table, Entry: bytes.TrimSpace(out.Bytes())}, true, nil
}

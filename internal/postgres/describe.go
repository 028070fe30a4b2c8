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

var (
	//go:embed describe_list.sql
	describeListSQL string
	//go:embed describe_detail.sql
	describeDetailSQL string
)

// maxDetailed is from how many relations on no answer could carry full entries: only short ones are
// made then.
const maxDetailed = 1000

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
	// Locked says that DDL of another session holds the table, so that definitions are missing.
	Locked bool `json:"locked,omitempty"`
	*details

	oid, partitions string
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
// if it may be written to. Full costs a second round trip; beyond 1,000 relations (about 80 kB of
// names alone) the entries are the short ones all the same.
func (p *Pool) Describe(ctx context.Context, req DescribeRequest) ([]Described, error) {
	var list []*entry
	_, err := p.read(ctx, func(s *Session) ([]wire.Reply, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*catalogPatience)
		defer cancel()
		replies, err := describeStep(ctx, s, wire.Segment{
			{SQL: "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"},
			{SQL: catalogTimeouts},
			{SQL: describeListSQL, Params: text(req.Schema, req.Table)},
		})
		if err != nil {
			return replies, err
		}
		if list, err = req.list(replies[0].Results[2].Rows); err != nil {
			return replies, err
		}
		if req.Full && len(list) > 0 && (len(list) <= maxDetailed || req.Table != "") {
			if replies, err = describeStep(ctx, s, wire.Segment{detailStep(list)}); err != nil {
				return replies, err
			}
			if err := req.detail(list, replies[0].Results[0].Rows); err != nil {
				return replies, err
			}
		}
		return s.Flush(ctx, seg1("ROLLBACK"))
	})
	if err != nil {
		return nil, err
	}
	out := make([]Described, len(list))
	for i, e := range list {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false) // definitions hold < and >
		if err := enc.Encode(e); err != nil {
			return nil, fmt.Errorf("describing %s.%s: %w", e.Schema, e.Table, err)
		}
		out[i] = Described{Schema: e.Schema, Table: e.Table, Entry: bytes.TrimSpace(buf.Bytes())}
	}
	return out, nil
}

func seg1(sql string) wire.Segment { return wire.Segment{{SQL: sql}} }

// describeStep runs one segment; what the server says is a refusal. A session left in a transaction
// is destroyed by Release.
func describeStep(ctx context.Context, s *Session, segment wire.Segment) ([]wire.Reply, error) {
	replies, err := s.Flush(ctx, segment)
	if err != nil {
		return replies, err
	}
	if e := replies[0].Err; e != nil {
		if ctx.Err() != nil {
			return replies, fmt.Errorf("describing: %w", ctx.Err())
		}
		return replies, wire.Refuse(e, wire.RefuseOptions{
			Fallback: refusal.QueryFailed, TimeoutSetting: "the limit for describing (10 s)", LockSetting: "the limit for reads",
		})
	}
	return replies, nil
}

// list makes the short entries of what may be seen.
func (req DescribeRequest) list(rows [][][]byte) ([]*entry, error) {
	var out []*entry
	for _, row := range rows {
		e := &entry{
			oid: string(row[0]), Schema: string(row[1]), Table: string(row[2]), Kind: string(row[3]),
			partitions: string(row[8]), Locked: req.Full && isTrue(row[9]),
		}
		if !req.MayRead(e.Schema, e.Table) {
			continue
		}
		e.Writable = isTrue(row[5]) && req.MayWrite(e.Schema, e.Table)
		if row[6] != nil && e.Writable {
			var bases [][3]string
			if err := json.Unmarshal(row[6], &bases); err != nil {
				return nil, fmt.Errorf("describing %s.%s: %w", e.Schema, e.Table, err)
			}
			for _, b := range bases {
				if b[2] == "f" || b[2] != "v" && !req.MayWrite(b[0], b[1]) {
					e.Writable = false
				}
			}
		}
		if !isTrue(row[4]) && !e.Writable {
			continue
		}
		if row[7] != nil {
			n := json.Number(row[7])
			e.RowCountEstimate = &n
		}
		out = append(out, e)
	}
	return out, nil
}

func detailStep(list []*entry) wire.Step {
	oids, locked, partitions := make([]string, len(list)), make([]string, len(list)), make([]string, len(list))
	for i, e := range list {
		oids[i], locked[i], partitions[i] = e.oid, "f", e.partitions
		if e.Locked {
			locked[i] = "t"
		}
	}
	return wire.Step{SQL: describeDetailSQL, Params: [][]byte{wire.TextArray(oids), wire.TextArray(locked), wire.TextArray(partitions)}}
}

// detail adds columns, keys and the rest to list, without the keys that lead to hidden tables.
func (req DescribeRequest) detail(list []*entry, rows [][][]byte) error {
	byOID := make(map[string]*entry, len(list))
	for _, e := range list {
		byOID[e.oid] = e
	}
	for _, row := range rows {
		e, ok := byOID[string(row[0])]
		if !ok {
			continue
		}
		var d struct {
			details
			Comment json.RawMessage `json:"comment"`
		}
		if err := json.Unmarshal(row[1], &d); err != nil {
			return fmt.Errorf("describing %s.%s: %w", e.Schema, e.Table, err)
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
	return nil
}

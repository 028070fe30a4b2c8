package postgres

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

var (
	//go:embed describe_list.sql
	describeListSQL string
	//go:embed describe_detail.sql
	describeDetailText string

	describeDetailSQL = strings.ReplaceAll(describeDetailText, "{mask}", "''")
	describeMaskedSQL = strings.ReplaceAll(describeDetailText, "{mask}", wire.MaskVersion("c.oid", "$3"))
)

// The least that a full entry takes, in bytes: without its columns, and for each column. A test holds
// them to what is printed.
const (
	leastEntry  = 250
	leastColumn = 110
)

// DescribeRequest names what to describe, as Postgres spells it. Empty means everything outside the
// system schemas.
type DescribeRequest struct {
	Schema, Table string
	// OID is that of Schema.Table where it is known already: then its full entry costs no second round
	// trip.
	OID uint32
	// Like is a LIKE pattern for the lower-cased names of tables; empty means all.
	Like string
	// Full asks for columns, keys, indexes and the rest, else only names, kinds and estimates come.
	Full bool
	// Children asks for the partitions of Table one by one.
	Children bool
	// Budget is how many bytes of full entries are wanted at most; where they cannot be as few, none are
	// made. 0 means no bound.
	Budget int
	// MayRead and MayWrite are the allowlists' verdicts. What MayRead hides does not exist: neither
	// as an entry nor as the target of a foreign key, nor as a partition.
	MayRead, MayWrite func(schema, name string) bool
}

// Described is one relation and its entry as the contract's describe_schema has it.
type Described struct {
	Schema, Table string
	// Entry is nil where no full entries were made; Summary is always there.
	Entry, Summary json.RawMessage
}

// summary is the short entry.
type summary struct {
	Schema           string       `json:"schema"`
	Table            string       `json:"table"`
	Kind             string       `json:"kind"`
	Comment          *string      `json:"comment,omitempty"`
	RowCountEstimate *json.Number `json:"rowCountEstimate"`
	Writable         bool         `json:"writable"`
}

type entry struct {
	summary
	details *details

	oid        string
	columns    int
	limits     []string
	partitions json.Number
}

type full struct {
	Schema           string       `json:"schema"`
	Table            string       `json:"table"`
	Kind             string       `json:"kind"`
	Comment          *string      `json:"comment"`
	RowCountEstimate *json.Number `json:"rowCountEstimate"`
	Writable         bool         `json:"writable"`
	WriteLimits      []string     `json:"writeLimits,omitempty"`
	*details
}

type details struct {
	// Locked says that DDL of another session holds the table, so that definitions are missing.
	Locked      bool            `json:"locked,omitempty"`
	Columns     json.RawMessage `json:"columns"`
	PrimaryKey  json.RawMessage `json:"primaryKey"`
	ForeignKeys []foreignKey    `json:"foreignKeys"`
	Unique      json.RawMessage `json:"unique"`
	Checks      json.RawMessage `json:"checks"`
	Indexes     json.RawMessage `json:"indexes"`
	Triggers    json.RawMessage `json:"triggers"`
	Partitions  *partitions     `json:"partitions"`
	PartitionOf *partition      `json:"partitionOf,omitempty"`
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

type partitions struct {
	Strategy string      `json:"strategy"`
	Key      *string     `json:"key"`
	Count    json.Number `json:"count"` // of those that hold rows, at any depth
	// Children are those right below, where they were asked for.
	Children []partition `json:"children,omitempty"`
}

type partition struct {
	Schema      string  `json:"schema"`
	Table       string  `json:"table"`
	Bound       *string `json:"bound"`
	Partitioned bool    `json:"partitioned,omitempty"`
}

// Describe lists relations, ordered by schema and name, from pg_catalog only. A name that does not
// exist, or is hidden, gives an empty list. A relation the role may not SELECT from is listed only
// if it may be written to.
//
// It is one round trip for short entries and for one relation whose OID is given, else two. See
// TestDescribeRoundTrips.
func (p *Pool) Describe(ctx context.Context, req DescribeRequest) ([]Described, error) {
	var list []*entry
	_, err := p.read(ctx, func(s *Session) ([]wire.Reply, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*catalogPatience)
		defer cancel()
		d := describing{req: req, pool: p}
		replies, err := d.run(ctx, s)
		list = d.list
		return replies, err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Described, len(list))
	for i, e := range list {
		if out[i], err = e.described(); err != nil {
			return nil, fmt.Errorf("describing %s.%s: %w", e.Schema, e.Table, err)
		}
	}
	return out, nil
}

// describing is one attempt.
type describing struct {
	req  DescribeRequest
	pool *Pool
	list []*entry
}

func (d *describing) run(ctx context.Context, s *Session) ([]wire.Reply, error) {
	begin := wire.Segment{
		{SQL: "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"},
		{SQL: catalogTimeouts},
		{SQL: describeListSQL, Params: text(d.req.Schema, d.req.Table, d.req.Like, d.pool.db.writerRole())},
	}
	rollback := wire.Segment{{SQL: "ROLLBACK"}}
	switch {
	case !d.req.Full:
		replies, err := describeStep(ctx, s, begin, rollback)
		if err == nil {
			err = d.take(replies[0].Results[2].Rows)
		}
		return replies, err
	case d.req.OID != 0:
		oid := strconv.FormatUint(uint64(d.req.OID), 10)
		replies, err := describeStep(ctx, s, append(begin, d.detailStep(oid)), rollback)
		if err == nil {
			err = d.take(replies[0].Results[2].Rows)
		}
		if err == nil {
			err = d.detail(replies[0].Results[3].Rows)
		}
		return replies, err
	}
	replies, err := describeStep(ctx, s, begin)
	if err == nil {
		err = d.take(replies[0].Results[2].Rows)
	}
	if err != nil {
		return replies, err // Release destroys a session that is left in a transaction
	}
	if !d.fits() {
		return s.Flush(ctx, rollback)
	}
	oids := make([]string, len(d.list))
	for i, e := range d.list {
		oids[i] = e.oid
	}
	if replies, err = describeStep(ctx, s, wire.Segment{d.detailStep(oids...)}, rollback); err == nil {
		err = d.detail(replies[0].Results[0].Rows)
	}
	return replies, err
}

// describeStep runs the segments; what the server says of the first is a refusal.
func describeStep(ctx context.Context, s *Session, segments ...wire.Segment) ([]wire.Reply, error) {
	replies, err := s.Flush(ctx, segments...)
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

// fits tells whether full entries can be as few bytes as are wanted. A column that was dropped is
// still counted, so only what is far too much does not fit.
func (d *describing) fits() bool {
	if d.req.Budget <= 0 {
		return true
	}
	least := 0
	for _, e := range d.list {
		least += leastEntry + leastColumn*e.columns
	}
	return least <= 2*d.req.Budget
}

var kinds = map[string]string{"r": "table", "p": "partitioned_table", "v": "view", "m": "materialized_view", "f": "foreign_table"}

// take makes the short entries of what may be seen.
func (d *describing) take(rows [][][]byte) error {
	d.list = nil
	for _, row := range rows {
		e := &entry{
			summary: summary{Schema: string(row[1]), Table: string(row[2]), Kind: kinds[string(row[3])]},
			oid:     string(row[0]), partitions: json.Number(row[9]),
		}
		if !d.req.MayRead(e.Schema, e.Table) {
			continue
		}
		w := writing{req: &d.req, role: d.pool.db.writerRole(), schema: e.Schema, table: e.Table, kind: row[3][0], foreign: isTrue(row[6])}
		var err error
		if e.Writable, e.limits, err = w.judge(row[5], row[7], row[13]); err != nil {
			return fmt.Errorf("describing %s.%s: %w", e.Schema, e.Table, err)
		}
		if !isTrue(row[4]) && !e.Writable {
			continue
		}
		if row[8] != nil {
			n := json.Number(row[8])
			e.RowCountEstimate = &n
		}
		if row[11] != nil {
			c := string(row[11])
			e.Comment = &c
		}
		if e.columns, err = strconv.Atoi(string(row[12])); err != nil {
			return fmt.Errorf("describing %s.%s: %w", e.Schema, e.Table, err)
		}
		d.list = append(d.list, e)
	}
	return nil
}

func (d *describing) detailStep(oids ...string) wire.Step {
	s := wire.Step{SQL: describeDetailSQL, Params: [][]byte{wire.TextArray(oids), []byte(strconv.FormatBool(d.req.Children))}}
	if masks := d.pool.db.masks; masks != "" {
		s.SQL, s.Params = describeMaskedSQL, append(s.Params, []byte(masks))
	}
	return s
}

// detail adds columns, keys and the rest, without what leads to hidden tables.
func (d *describing) detail(rows [][][]byte) error {
	byOID := make(map[string]*entry, len(d.list))
	for _, e := range d.list {
		byOID[e.oid] = e
	}
	for _, row := range rows {
		e, ok := byOID[string(row[0])]
		if !ok {
			continue
		}
		var x details
		if err := json.Unmarshal(row[1], &x); err != nil {
			return fmt.Errorf("describing %s.%s: %w", e.Schema, e.Table, err)
		}
		x.ForeignKeys = kept(x.ForeignKeys, func(k foreignKey) bool { return d.req.MayRead(k.ReferencesSchema, k.ReferencesTable) })
		if x.Partitions != nil {
			x.Partitions.Count = e.partitions
			x.Partitions.Children = kept(x.Partitions.Children, func(k partition) bool { return d.req.MayRead(k.Schema, k.Table) })
		}
		if of := x.PartitionOf; of != nil && !d.req.MayRead(of.Schema, of.Table) {
			x.PartitionOf = nil
		}
		if len(row[2]) > 0 {
			var err error
			if x.Columns, err = withMasks(x.Columns, row[3], sqlguard.ColumnMasks(d.pool.db.maskList, string(row[2]))); err != nil {
				return fmt.Errorf("describing %s.%s: %w", e.Schema, e.Table, err)
			}
		}
		e.details = &x
	}
	return nil
}

func kept[T any](list []T, keep func(T) bool) []T {
	out := list[:0]
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// maxSummaryComment is where a comment is cut in a short entry, in characters.
const maxSummaryComment = 120

func (e *entry) described() (_ Described, err error) {
	out := Described{Schema: e.Schema, Table: e.Table}
	if e.details != nil {
		out.Entry, err = lineJSON(full{
			Schema: e.Schema, Table: e.Table, Kind: e.Kind, Comment: e.Comment, RowCountEstimate: e.RowCountEstimate,
			Writable: e.Writable, WriteLimits: e.limits, details: e.details,
		})
		if err != nil {
			return out, err
		}
	}
	short := e.summary
	if short.Comment != nil {
		if r := []rune(*short.Comment); len(r) > maxSummaryComment {
			c := string(r[:maxSummaryComment]) + "…"
			short.Comment = &c
		}
	}
	out.Summary, err = lineJSON(short)
	return out, err
}

// lineJSON is v as JSON of one line, with the < and > that definitions hold.
func lineJSON(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

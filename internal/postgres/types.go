package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

//go:embed types.sql
var typesSQL string

// kind is how a type's text becomes JSON (contract, "Values").
type kind int

const (
	kindText   kind = iota // Postgres' own text as a JSON string
	kindBool               // t, f
	kindNumber             // int2, int4: a JSON number in every client exact
	kindFloat              // number, or "NaN", "Infinity", "-Infinity"
	kindJSON               // the stored JSON
	kindArray
)

type typeInfo struct {
	kind  kind
	name  string // format_type
	elem  uint32 // kindArray: the element type
	delim byte   // of this type as an element: ';' for box, else ','
}

// The types that need no look-up (pg_type.dat; these OIDs never change).
var builtin = map[uint32]typeInfo{
	16: {kindBool, "boolean", 0, ','}, 1000: {kindArray, "boolean[]", 16, ','},
	17: {kindText, "bytea", 0, ','}, 1001: {kindArray, "bytea[]", 17, ','},
	18: {kindText, `"char"`, 0, ','}, 19: {kindText, "name", 0, ','}, 1003: {kindArray, "name[]", 19, ','},
	20: {kindText, "bigint", 0, ','}, 1016: {kindArray, "bigint[]", 20, ','},
	21: {kindNumber, "smallint", 0, ','}, 1005: {kindArray, "smallint[]", 21, ','},
	23: {kindNumber, "integer", 0, ','}, 1007: {kindArray, "integer[]", 23, ','},
	25: {kindText, "text", 0, ','}, 1009: {kindArray, "text[]", 25, ','},
	26: {kindText, "oid", 0, ','}, 1028: {kindArray, "oid[]", 26, ','},
	114: {kindJSON, "json", 0, ','}, 199: {kindArray, "json[]", 114, ','},
	603: {kindText, "box", 0, ';'},
	700: {kindFloat, "real", 0, ','}, 1021: {kindArray, "real[]", 700, ','},
	701: {kindFloat, "double precision", 0, ','}, 1022: {kindArray, "double precision[]", 701, ','},
	705: {kindText, "unknown", 0, ','},
	790: {kindText, "money", 0, ','}, 791: {kindArray, "money[]", 790, ','},
	1042: {kindText, "character", 0, ','}, 1014: {kindArray, "character[]", 1042, ','},
	1043: {kindText, "character varying", 0, ','}, 1015: {kindArray, "character varying[]", 1043, ','},
	1082: {kindText, "date", 0, ','}, 1182: {kindArray, "date[]", 1082, ','},
	1083: {kindText, "time without time zone", 0, ','}, 1266: {kindText, "time with time zone", 0, ','},
	1114: {kindText, "timestamp without time zone", 0, ','}, 1115: {kindArray, "timestamp without time zone[]", 1114, ','},
	1184: {kindText, "timestamp with time zone", 0, ','}, 1185: {kindArray, "timestamp with time zone[]", 1184, ','},
	1186: {kindText, "interval", 0, ','},
	1700: {kindText, "numeric", 0, ','}, 1231: {kindArray, "numeric[]", 1700, ','},
	2278: {kindText, "void", 0, ','},
	2950: {kindText, "uuid", 0, ','}, 2951: {kindArray, "uuid[]", 2950, ','},
	3802: {kindJSON, "jsonb", 0, ','}, 3807: {kindArray, "jsonb[]", 3802, ','},
}

// typeCache remembers the types of one database. An OID's meaning does not change while the type
// exists, so entries never expire; a type created later is an OID not yet seen.
type typeCache struct {
	mu    sync.RWMutex
	known map[uint32]typeInfo
}

func (c *typeCache) get(oid uint32) (typeInfo, bool) {
	if t, ok := builtin[oid]; ok {
		return t, true
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, ok := c.known[oid]
	return t, ok
}

func (c *typeCache) put(found map[uint32]typeInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) > 10_000 {
		c.known = map[uint32]typeInfo{}
	}
	maps.Copy(c.known, found)
}

// typesOf resolves OIDs, asking the server once for those not known. One that cannot be found (or
// asked for, in a failed transaction) is plain text.
func (s *Session) typesOf(ctx context.Context, oids []uint32) (map[uint32]typeInfo, error) {
	out := make(map[uint32]typeInfo, len(oids))
	var missing []string
	for _, oid := range oids {
		if _, done := out[oid]; done {
			continue
		}
		t, ok := s.pool.types.get(oid)
		if !ok {
			if oid != 0 {
				missing = append(missing, strconv.FormatUint(uint64(oid), 10))
			}
			t = typeInfo{kind: kindText, name: "unknown", delim: ','}
		}
		out[oid] = t
		for t.kind == kindArray { // element types came with their array
			elem, ok := s.pool.types.get(t.elem)
			if !ok {
				break
			}
			out[t.elem] = elem
			t = elem
		}
	}
	if len(missing) == 0 || s.pc.TxStatus() == 'E' {
		return out, nil
	}
	found, err := s.askTypes(ctx, missing)
	if err != nil {
		return nil, err
	}
	maps.Copy(out, found)
	return out, nil
}

func (s *Session) askTypes(ctx context.Context, oids []string) (map[uint32]typeInfo, error) {
	replies, err := s.Flush(ctx, wire.Segment{{SQL: typesSQL, Params: text("{" + strings.Join(oids, ",") + "}")}})
	if err != nil {
		return nil, fmt.Errorf("looking up types: %w", err)
	}
	if e := replies[0].Err; e != nil {
		return nil, fmt.Errorf("looking up types: %w", e)
	}
	type raw struct {
		base, elem uint32
		delim      byte
		name       string
	}
	rows := map[uint32]raw{}
	for _, r := range replies[0].Results[0].Rows {
		rows[number(r[0])] = raw{base: number(r[1]), elem: number(r[2]), delim: first(r[3]), name: string(r[4])}
	}
	found := make(map[uint32]typeInfo, len(rows))
	for oid, r := range rows {
		base, baseOID := r, oid
		for range 64 { // domains over domains
			if base.base == 0 {
				break
			}
			baseOID = base.base
			base = rows[base.base]
		}
		info := typeInfo{kind: kindText, name: r.name, delim: r.delim}
		if known, ok := builtin[baseOID]; ok {
			info.kind, info.elem = known.kind, known.elem
		} else if base.elem != 0 {
			info.kind, info.elem = kindArray, base.elem
		}
		found[oid] = info
	}
	// An array's element may be built in; give it along so that callers find it.
	for _, t := range found {
		if b, ok := builtin[t.elem]; ok {
			found[t.elem] = b
		}
	}
	s.pool.types.put(found)
	return found, nil
}

func number(v []byte) uint32 {
	n, _ := strconv.ParseUint(string(v), 10, 32)
	return uint32(n)
}

func first(v []byte) byte {
	if len(v) == 0 {
		return ','
	}
	return v[0]
}

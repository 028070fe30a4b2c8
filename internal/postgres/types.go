package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

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

// typeSet is what is known of some types, by OID.
type typeSet map[uint32]typeInfo

// typesTTL is how long a type is remembered. An OID means the same as long as its type exists, but a
// type can be renamed, and a database that is dropped and restored under us gives the OIDs to others.
const typesTTL = catalogTTL

// typeCache remembers the types of one database. One that is created later is an OID not yet seen.
type typeCache struct {
	now func() time.Time // nil: time.Now

	mu    sync.RWMutex
	known map[uint32]knownType
}

type knownType struct {
	typeInfo
	until time.Time
}

// maxTypes bounds what is remembered.
const maxTypes = 10_000

func (c *typeCache) clock() time.Time {
	if c.now != nil {
		return c.now()
	}
	return time.Now()
}

// collect adds the type and, of an array, the elements' types to into, as deep as they go. It tells
// whether all of them are known.
func (c *typeCache) collect(oid uint32, into typeSet) bool {
	now := c.clock()
	c.mu.RLock()
	defer c.mu.RUnlock()
	for {
		t, ok := builtin[oid]
		if !ok {
			k, known := c.known[oid]
			if !known || !now.Before(k.until) {
				return false
			}
			t = k.typeInfo
		}
		into[oid] = t
		if t.kind != kindArray {
			return true
		}
		oid = t.elem
	}
}

func (c *typeCache) put(found typeSet) {
	until := c.clock().Add(typesTTL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) > maxTypes {
		c.known = map[uint32]knownType{}
	}
	for oid, t := range found {
		c.known[oid] = knownType{t, until}
	}
}

// typesOf resolves OIDs, asking the server once for those not known. One that cannot be found (or
// asked for, in a failed transaction) is plain text.
func (s *Session) typesOf(ctx context.Context, oids []uint32) (typeSet, error) {
	out := make(typeSet, len(oids))
	var missing []string
	for _, oid := range oids {
		if _, done := out[oid]; done || s.pool.types.collect(oid, out) {
			continue
		}
		out[oid] = typeInfo{kind: kindText, name: "unknown", delim: ','}
		if oid != 0 {
			missing = append(missing, strconv.FormatUint(uint64(oid), 10))
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

func (s *Session) askTypes(ctx context.Context, oids []string) (typeSet, error) {
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
	found := make(typeSet, len(rows))
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

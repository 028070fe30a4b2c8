package sqlguard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaskAs says what the agent sees in place of a masked value. SQL NULL stays null in each of them.
type MaskAs string

// What stands in place of a value.
const (
	// MaskNull: null, always.
	MaskNull MaskAs = "null"
	// MaskHash: "hash:" and 16 hex digits of an HMAC-SHA256 under a key that is drawn when the process starts
	// and kept nowhere. Equal values have equal hashes until then, in every column; without the key nobody can
	// try values against them.
	MaskHash MaskAs = "hash"
	// MaskPartial: the first character and ***, of values of at least 8 characters; *** of all others.
	MaskPartial MaskAs = "partial"
)

// partialFrom is the length in characters from which a partial mask shows the first one.
const partialFrom = 8

// MaskWays are the ways to mask, the strictest first: where two masks meet in one column (by inheritance)
// the stricter one holds.
func MaskWays() []MaskAs { return []MaskAs{MaskNull, MaskHash, MaskPartial} }

// Mask is one masked column, by name: it holds for whatever column has that name when a statement runs.
type Mask struct {
	Schema, Table, Column string
	As                    MaskAs
}

// String is the column's full name, quoted where needed.
func (m Mask) String() string { return QuoteName(m.Schema, m.Table) + "." + QuoteIdent(m.Column) }

// ParseMask reads "schema.table.column", each part as Postgres reads names: folded unless it is quoted.
// The error says what is wrong with it. Places of which no value is ever shown cannot be masked, since
// that would promise what is not done.
func ParseMask(column string, as MaskAs) (Mask, error) {
	ways := MaskWays()
	known := false
	for _, w := range ways {
		known = known || as == w
	}
	if !known {
		return Mask{}, fmt.Errorf("%q is not one of null, hash, partial", string(as))
	}
	parts, err := maskParts(column)
	if err != nil {
		return Mask{}, err
	}
	m := Mask{Schema: parts[0], Table: parts[1], Column: parts[2], As: as}
	switch {
	case neverWritableSchema(m.Schema):
		return Mask{}, fmt.Errorf("schema %s belongs to the system or to the audit trail; its columns cannot be masked", QuoteIdent(m.Schema))
	case systemColumns[m.Column]:
		return Mask{}, fmt.Errorf("%s is a system column, which every table has", m.Column)
	}
	return m, nil
}

// maskParts cuts a name of three parts at its last dot outside quotes.
func maskParts(text string) ([3]string, error) {
	bad := fmt.Errorf("%q is not a column's full name: write it as schema.table.column, with double quotes around parts that need them", text)
	quoted, cut := false, -1
	for i := range len(text) {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '.':
			if !quoted {
				cut = i
			}
		}
	}
	if quoted || cut < 0 {
		return [3]string{}, bad
	}
	table, err := ParseName(text[:cut])
	if err != nil || table.Schema == "" {
		return [3]string{}, bad
	}
	column, err := ParseName(text[cut+1:])
	if err != nil || column.Schema != "" {
		return [3]string{}, bad
	}
	return [3]string{table.Schema, table.Name, column.Name}, nil
}

// builtinMasks hold as soon as anything is masked: pg_attribute keeps the value of a column that was added
// with a default, for the rows that are older than it.
var builtinMasks = []Mask{{Schema: "pg_catalog", Table: "pg_attribute", Column: "attmissingval", As: MaskNull}}

// masking is what a guard knows of masks. Its zero value masks nothing.
type masking struct {
	list []Mask
	text string // of the list, as the catalog is asked with it
	key  [32]byte
}

func newMasking(list []Mask) *masking {
	m := &masking{}
	if len(list) == 0 {
		return m
	}
	m.list = append(append(m.list, list...), builtinMasks...)
	m.text = MaskQuestion(list)
	_, _ = rand.Read(m.key[:]) // never fails (crypto/rand)
	return m
}

// MaskQuestion is the list as the catalog is asked with it (wire.FactMask): the names, by number.
func MaskQuestion(list []Mask) string {
	if len(list) == 0 {
		return ""
	}
	rows := [][3]string{}
	for _, m := range append(append([]Mask{}, list...), builtinMasks...) {
		rows = append(rows, [3]string{m.Schema, m.Table, m.Column})
	}
	out, err := json.Marshal(rows)
	if err != nil { // strings only
		panic(err)
	}
	return string(out)
}

func (m *masking) on() bool { return m != nil && len(m.list) > 0 }

// value is what the agent sees in place of a value, as JSON. text is nil for SQL NULL.
func (m *masking) value(as MaskAs, text []byte) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	switch as {
	case MaskHash:
		h := hmac.New(sha256.New, m.key[:])
		h.Write(text)
		return json.RawMessage(`"hash:` + hex.EncodeToString(h.Sum(nil)[:8]) + `"`)
	case MaskPartial:
		return json.RawMessage(`"` + partial(string(text)) + `"`)
	case MaskNull:
	}
	return json.RawMessage("null")
}

// partial shows the first character of a long value, if it is one that stands in JSON as it is.
func partial(s string) string {
	if utf8.RuneCountInString(s) < partialFrom {
		return "***"
	}
	first, _ := utf8.DecodeRuneInString(s)
	if first == utf8.RuneError || first < ' ' || first == '"' || first == '\\' || first == 0x7f || first == 0x2028 || first == 0x2029 {
		return "***"
	}
	return string(first) + "***"
}

// RelationMask is what masks mean for one relation, as the catalog found it. The zero value: nothing.
type RelationMask struct {
	// Columns are those of it that are masked, by inheritance too.
	Columns []struct {
		Number int16
		Mask   int // position in the list, from 1
	}
	// Broken are masks, by number, that name this table or one that it inherits from or hands down to, and
	// whose column is not there.
	Broken []int
	// Reads says that it is a view, or a materialized view, whose query reads a masked column at any depth,
	// whole rows and samples of statistics included.
	Reads bool
	// Calls are the functions of the database's own that filled a materialized view, at any depth.
	Calls []Routine
	// InKey says that it is partitioned by a masked column, or by an expression of one.
	InKey bool
}

// maskOf reads what the catalog says; text it cannot read masks everything.
func maskOf(text string) RelationMask {
	var m RelationMask
	if text != "" && json.Unmarshal([]byte(text), &m) != nil {
		return RelationMask{Reads: true}
	}
	return m
}

// columns are the masked columns of a relation, by name.
func (g *Guard) maskedColumns(rel Relation) map[string]MaskAs {
	out := map[string]MaskAs{}
	if rel.Mask == "" {
		return out
	}
	for _, c := range maskOf(rel.Mask).Columns {
		for _, own := range rel.Columns {
			if own.Number == c.Number {
				out[own.Name] = g.masks.stricter(out[own.Name], c.Mask)
			}
		}
	}
	return out
}

func (m *masking) stricter(has MaskAs, number int) MaskAs {
	if number < 1 || number > len(m.list) {
		return MaskNull
	}
	for _, w := range MaskWays() {
		if w == has || w == m.list[number-1].As {
			return w
		}
	}
	return MaskNull
}

// Masks are the masks in force, without those of the system's own. The slice is the caller's.
func (g *Guard) Masks() []Mask {
	return append([]Mask(nil), g.policy.Masks...)
}

// ColumnMasks reads what the catalog says of a relation under a list of masks (wire.FactMask): how each of its
// columns is masked, by number.
func ColumnMasks(list []Mask, text string) map[int16]MaskAs {
	m := newMasking(list)
	out := map[int16]MaskAs{}
	for _, c := range maskOf(text).Columns {
		out[c.Number] = m.stricter(out[c.Number], c.Mask)
	}
	return out
}

// brokenNames lists the masks whose columns are not there.
func (m *masking) brokenNames(numbers []int) string {
	var out []string
	for _, n := range numbers {
		if n >= 1 && n <= len(m.list) {
			out = append(out, m.list[n-1].String())
		}
	}
	return strings.Join(out, ", ")
}

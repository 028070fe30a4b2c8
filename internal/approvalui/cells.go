package approvalui

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// The types of a cell.
const (
	cellNull   = "null"
	cellText   = "text"
	cellNumber = "number"
	cellBool   = "boolean"
	cellJSON   = "json"
	cellAbsent = "absent" // the column is not part of this row's change
)

// Cell is one value as a person reads it. The text is made here and not in the browser, because
// JSON.parse there would lose digits.
type Cell struct {
	Type string `json:"t"`
	Text string `json:"v"`
}

// cellOf renders a JSON value. Numbers keep their digits.
func cellOf(v json.RawMessage) Cell {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return Cell{Type: cellAbsent}
	}
	switch v[0] {
	case 'n':
		return Cell{Type: cellNull}
	case 't', 'f':
		return Cell{cellBool, string(v)}
	case '"':
		var s string
		if json.Unmarshal(v, &s) != nil {
			return Cell{cellJSON, string(v)}
		}
		return Cell{cellText, s}
	case '{', '[':
		return Cell{cellJSON, string(v)}
	default:
		return Cell{cellNumber, string(v)}
	}
}

// Grid is a table of cells.
type Grid struct {
	Columns []string `json:"columns"`
	Right   []bool   `json:"right"`  // columns that hold numbers
	Masked  []bool   `json:"masked"` // columns of which the agent does not see these values
	Rows    [][]Cell `json:"rows"`
}

// gridOf lays rows out, columns in the order they first appear.
func gridOf(in []plan.Row) Grid {
	g := Grid{Columns: []string{}, Rows: [][]Cell{}}
	at := map[string]int{}
	for _, r := range in {
		for _, f := range r {
			if _, ok := at[f.Column]; !ok {
				at[f.Column] = len(g.Columns)
				g.Columns = append(g.Columns, f.Column)
			}
		}
	}
	g.Masked = make([]bool, len(g.Columns))
	for _, r := range in {
		line := make([]Cell, len(g.Columns))
		for i := range line {
			line[i] = Cell{Type: cellAbsent}
		}
		for _, f := range r {
			line[at[f.Column]] = cellOf(f.Value)
			g.Masked[at[f.Column]] = g.Masked[at[f.Column]] || f.Masked != nil
		}
		g.Rows = append(g.Rows, line)
	}
	g.Right = make([]bool, len(g.Columns))
	for i := range g.Columns {
		g.Right[i] = numbersOnly(g.Rows, i)
	}
	return g
}

func numbersOnly(rows [][]Cell, col int) bool {
	any := false
	for _, r := range rows {
		switch c := r[col]; c.Type {
		case cellNull, cellAbsent:
		default:
			if _, ok := rational(c); !ok {
				return false
			}
			any = true
		}
	}
	return any
}

// maxNumberLength bounds the digits that are compared: "1e999999999" is a valid number.
const maxNumberLength = 60

// rational reads a cell as a number: JSON numbers, and the strings that int8 and numeric come as.
func rational(c Cell) (*big.Rat, bool) {
	if c.Type != cellNumber && c.Type != cellText || c.Text == "" || len(c.Text) > maxNumberLength {
		return nil, false
	}
	if strings.Trim(c.Text, "-0123456789.") != "" || c.Text[0] == '.' {
		return nil, false // no exponents, no signs but a minus, no fractions
	}
	return new(big.Rat).SetString(c.Text)
}

// ChangeGrid lays changes out: the key, then each changed column before and after.
type ChangeGrid struct {
	Keys    []string     `json:"keys"`
	Columns []string     `json:"columns"`
	Right   []bool       `json:"right"`
	Masked  []bool       `json:"masked"`     // of columns, as in Grid
	KeyMask []bool       `json:"key_masked"` // of keys
	Rows    []ChangeLine `json:"rows"`
}

// ChangeLine is one changed row.
type ChangeLine struct {
	Key  []Cell `json:"key"`
	Pair []Pair `json:"pairs"`
}

// Pair is one column before and after, and the difference in words.
type Pair struct {
	Before Cell   `json:"before"`
	After  Cell   `json:"after"`
	Diff   string `json:"diff"`
}

func changesOf(in []plan.Change) ChangeGrid {
	keys, before, after := make([]plan.Row, len(in)), make([]plan.Row, len(in)), make([]plan.Row, len(in))
	for i, c := range in {
		keys[i] = c.Key
		before[i], after[i] = c.Before, c.After
	}
	// Both sides are laid out over the same columns.
	all := gridOf(append(append([]plan.Row(nil), before...), after...))
	k := gridOf(keys)
	g := ChangeGrid{Keys: k.Columns, Columns: all.Columns, Right: all.Right, Masked: all.Masked, KeyMask: k.Masked, Rows: []ChangeLine{}}
	for i := range in {
		line := ChangeLine{Key: k.Rows[i], Pair: make([]Pair, len(all.Columns))}
		for j := range all.Columns {
			b, a := all.Rows[i][j], all.Rows[i+len(in)][j]
			line.Pair[j] = Pair{b, a, difference(b, a)}
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

// difference says how a value changed where that can be said in a word.
func difference(before, after Cell) string {
	if before.Type == cellAbsent || after.Type == cellAbsent {
		return ""
	}
	if before.Type == cellNull && after.Type != cellNull {
		return "was empty"
	}
	if after.Type == cellNull && before.Type != cellNull {
		return "becomes empty"
	}
	b, ok1 := rational(before)
	a, ok2 := rational(after)
	if !ok1 || !ok2 {
		return ""
	}
	if b.Sign() == 0 {
		if a.Sign() == 0 {
			return ""
		}
		return "was 0"
	}
	d := new(big.Rat).Sub(a, b)
	d.Quo(d, new(big.Rat).Abs(b))
	d.Mul(d, big.NewRat(100, 1))
	f, _ := d.Float64()
	switch {
	case f == 0:
		return "same"
	case f > 0:
		return "+" + percent(f) + " %"
	default:
		return "\u2212" + percent(-f) + " %"
	}
}

// percent renders a positive percentage: whole from 10 on, else two significant digits.
func percent(f float64) string {
	switch {
	case f >= 99.5 && f < 100:
		return ">99"
	case f >= 9.95:
		return digits(int64(f + 0.5))
	case f < 0.01:
		return "<0.01"
	case f >= 0.995:
		return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
	default:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
}

// Param is one parameter as the card shows it.
type Param struct {
	Number int    `json:"n"`
	Cell   Cell   `json:"cell"`
	Type   string `json:"type"` // "text", "number", "array of 240 numbers", …
	Length int    `json:"length"`
}

func paramsOf(in []json.RawMessage) []Param {
	out := make([]Param, len(in))
	for i, v := range in {
		c := cellOf(v)
		out[i] = Param{Number: i + 1, Cell: c, Type: typeOf(c), Length: utf8.RuneCountInString(c.Text)}
	}
	return out
}

// typeOf names the JSON type of a parameter; what Postgres makes of it is in the statement.
func typeOf(c Cell) string {
	if c.Type != cellJSON {
		return map[string]string{cellNull: "no value", cellText: "text", cellNumber: "number", cellBool: "true or false"}[c.Type]
	}
	if !strings.HasPrefix(c.Text, "[") {
		return "JSON object"
	}
	var items []json.RawMessage
	if json.Unmarshal([]byte(c.Text), &items) != nil {
		return "array"
	}
	n := int64(len(items))
	kind := ""
	for _, it := range items {
		t := cellOf(it).Type
		if kind != "" && kind != t {
			kind = "mixed"
			break
		}
		kind = t
	}
	one, many := "value", "values"
	switch kind {
	case cellNumber:
		one, many = "number", "numbers"
	case cellText:
		one, many = "text", "texts"
	}
	return "array of " + digits(n) + " " + plural(n, one, many)
}

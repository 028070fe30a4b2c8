package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// writing says whether the write tools could change a relation, and what stands in the way: the same
// that they would say one after the other, known beforehand. It decides nothing: the guard and Postgres
// do. See TestDescribeSaysWhatWritingLacks.
type writing struct {
	req           *DescribeRequest
	role          string
	schema, table string
	kind          byte
	foreign       bool // a partition is a foreign table
}

// verbs are what a write may be, by their bits in pg_relation_is_updatable (1 << CmdType).
var verbs = []struct {
	name string
	bit  int
}{{"INSERT", 1 << 3}, {"UPDATE", 1 << 2}, {"DELETE", 1 << 4}}

// judge reads what describe_list.sql says: updatable, bases and lacks. Writable is true if at least one
// of INSERT, UPDATE and DELETE can go through; limits then name the others.
func (w *writing) judge(updatable, bases, lacks []byte) (writable bool, limits []string, err error) {
	never := ""
	switch w.kind {
	case 'm':
		never = "a materialized view is never writable"
	case 'f':
		never = "a foreign table is never writable"
	}
	if sqlguard.NeverWritable(w.schema) {
		never = "nothing in schema " + sqlguard.QuoteIdent(w.schema) + " is writable"
	}
	if never != "" {
		return false, []string{never}, nil
	}
	if !w.req.MayWrite(w.schema, w.table) {
		limits = append(limits, "allowlist.write does not name it")
	}
	if w.foreign {
		limits = append(limits, "a partition of it is a foreign table")
	}
	possible := 0
	for _, v := range verbs {
		possible |= v.bit
	}
	if w.kind == 'v' {
		below, bits, err := w.view(updatable, bases)
		if err != nil {
			return false, nil, err
		}
		limits, possible = append(limits, below...), bits
	}
	writable = len(limits) == 0 && possible != 0
	if w.kind == 'v' && updatable != nil {
		if missing := without(possible); len(missing) == len(verbs) {
			limits = append(limits, "Postgres cannot write through this view")
		} else if len(missing) > 0 {
			limits = append(limits, "Postgres cannot "+strings.Join(missing, " or ")+" through this view")
		}
	}
	return w.granted(writable, possible, limits, lacks)
}

// view looks at what a view stands on. A hidden table below it is not named.
func (w *writing) view(updatable, bases []byte) (limits []string, possible int, err error) {
	if updatable == nil {
		limits = append(limits, "what it stands on is being changed by another session right now")
	} else if possible, err = strconv.Atoi(string(updatable)); err != nil {
		return nil, 0, fmt.Errorf("reading pg_relation_is_updatable: %w", err)
	}
	if bases == nil {
		return limits, possible, nil
	}
	var list [][3]string
	if err := json.Unmarshal(bases, &list); err != nil {
		return nil, 0, fmt.Errorf("reading what a view stands on: %w", err)
	}
	for _, b := range list {
		var limit string
		name := "a table that is not shown here"
		if w.req.MayRead(b[0], b[1]) || w.req.MayWrite(b[0], b[1]) {
			name = sqlguard.QuoteName(b[0], b[1])
		}
		switch {
		case b[2] == "f":
			limit = "it stands on a foreign table"
		case b[2] == "v" || b[2] == "m" || w.req.MayWrite(b[0], b[1]):
			continue
		default:
			limit = "allowlist.write does not name " + name + ", which it stands on"
		}
		if !slices.Contains(limits, limit) {
			limits = append(limits, limit)
		}
	}
	return limits, possible, nil
}

// granted adds the rights that the writer lacks. Every preview reads, so nothing goes without SELECT.
func (w *writing) granted(writable bool, possible int, limits []string, lacks []byte) (bool, []string, error) {
	if len(lacks) == 0 { // nothing, or there is no such role yet
		return writable, limits, nil
	}
	rights := strings.Split(string(lacks), ",")
	if rights[0] == "USAGE" {
		limits = append(limits, fmt.Sprintf("role %s lacks USAGE on schema %s", sqlguard.QuoteIdent(w.role), sqlguard.QuoteIdent(w.schema)))
		rights, writable = rights[1:], false
	}
	if len(rights) == 0 {
		return writable, limits, nil
	}
	for _, v := range verbs {
		if slices.Contains(rights, v.name) {
			possible &^= v.bit
		}
	}
	limits = append(limits, fmt.Sprintf("role %s lacks %s", sqlguard.QuoteIdent(w.role), strings.Join(rights, ", ")))
	return writable && possible != 0 && rights[0] != "SELECT", limits, nil
}

// without names the verbs whose bits are not set.
func without(bits int) (names []string) {
	for _, v := range verbs {
		if bits&v.bit == 0 {
			names = append(names, v.name)
		}
	}
	return names
}

// writerRole is the role that writes: as the server called it, else as the connection string does.
func (db *DB) writerRole() string {
	db.mu.Lock()
	defer db.mu.Unlock()
	if r, ok := db.roles[Writer]; ok {
		return r
	}
	return db.writer.target.user
}

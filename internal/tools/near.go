package tools

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// Postgres' own hints about names that do not exist are not passed on: with DETAIL and CONTEXT they may
// carry rows. What resembles the name is looked up here instead, among what the statement may see.

// atState is how wire.Refuse ends a sentence of the server.
var atState = regexp.MustCompile(`\(SQLSTATE (42703|42P01)(?:, at character (\d+) of the statement)?\)$`)

// inQuotes is a name as Postgres quotes it in a sentence, in most languages.
var inQuotes = regexp.MustCompile(`^[^"«„]*["«„]([^"»“]+)["»“]`)

// bareColumn is a qualified column, which Postgres does not quote.
var bareColumn = regexp.MustCompile(`^column \S*?([^.\s]+) does not exist`)

// nearer adds names that exist to the hint of an error about a name that does not. A failure to find
// some leaves err as it is. See TestFieldB19UnknownNamesInEveryTool.
func (d Deps) nearer(ctx context.Context, cat sqlguard.Catalog, st *sqlguard.Statement, err error) error {
	e, ok := refusal.As(err)
	if !ok || st == nil {
		return err
	}
	m := atState.FindStringSubmatch(e.Message)
	if m == nil {
		return err
	}
	var hint string
	if m[1] == "42P01" {
		hint = d.nearTable(ctx, cat, e.Message)
	} else {
		position, _ := strconv.Atoi(m[2]) // 0 without one
		hint = nearColumn(ctx, cat, st, missingColumn(e.Message, st.SQL(), position))
	}
	if hint == "" {
		return err
	}
	return refusal.New(e.Code, e.Message, hint)
}

// missingColumn is the column that a sentence is about: the name at the position, if the sentence holds
// it too, else what it quotes.
func missingColumn(message, sql string, position int) string {
	if name := sqlguard.WrittenAt(sql, position); name != "" && strings.Contains(message, name) {
		return name
	}
	for _, form := range []*regexp.Regexp{inQuotes, bareColumn} {
		if m := form.FindStringSubmatch(message); m != nil {
			return m[1]
		}
	}
	return ""
}

func nearColumn(ctx context.Context, cat sqlguard.Catalog, st *sqlguard.Statement, name string) string {
	if name == "" {
		return ""
	}
	ddl := st.DDL()
	var names []sqlguard.Name
	for _, t := range slices.Concat(st.Relations(), ddl.Writes, ddl.Reads) {
		if n := (sqlguard.Name{Schema: t.Schema, Name: t.Name}); t.OID != 0 && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if t := st.Target(); t.OID != 0 && !slices.Contains(names, sqlguard.Name{Schema: t.Schema, Name: t.Name}) {
		names = append(names, sqlguard.Name{Schema: t.Schema, Name: t.Name})
	}
	if len(names) == 0 {
		return ""
	}
	facts, err := cat.Lookup(ctx, sqlguard.Lookup{Relations: names}, false)
	if err != nil {
		return ""
	}
	var rels []sqlguard.Relation
	for _, n := range names {
		if rel, ok := facts.Relations[n]; ok && len(rel.Columns) > 0 {
			rels = append(rels, rel)
		}
	}
	if len(rels) == 0 {
		return ""
	}
	near := sqlguard.NearColumns(name, rels)
	switch {
	case len(near) == 0:
		return ""
	case len(near) > 3 || len(rels) == 1 && !sqlguard.Alike(name, near[0]):
		return "Columns of " + sqlguard.QuoteName(rels[0].Schema, rels[0].Name) + ": " + strings.Join(near, ", ") + "."
	}
	return "Did you mean " + strings.Join(near, ", ") + "? Names with upper case letters need double quotes."
}

// nearTable lets the guard answer for the table that a literal names ('app.orders'::regclass).
func (d Deps) nearTable(ctx context.Context, cat sqlguard.Catalog, message string) string {
	m := inQuotes.FindStringSubmatch(message)
	if m == nil || !strings.HasPrefix(message, "relation ") {
		return "" // an alias that is not in FROM has the same SQLSTATE
	}
	_, err := d.Text.ResolveTable(ctx, cat, m[1])
	if e, ok := refusal.As(err); ok && e.Code == refusal.InvalidTableName {
		return e.Hint
	}
	return ""
}

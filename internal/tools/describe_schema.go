package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const describeSchemaUsage = `describe_schema takes schema (string), table (string), detail ("summary" or "full") and reason (string); none is required.`

// maxDescription is how many bytes of entries go out unasked: more floods an agent's context. With the
// hint the answer stays below 60 kB.
const maxDescription = 57_000

func describeSchema(d Deps) Tool {
	return Tool{
		Name: "describe_schema", Title: "Describe tables",
		Description: `List tables and views with their columns, types, keys, checks, indexes, triggers, partitions, comments and row estimates, and whether this server may write to them (writeLimits says what stands in the way). Call it before writing SQL.

Without arguments everything readable is described; if that is too much for one answer you get names, kinds and estimates with truncated: true, and the hint says how to go on: give schema, or schema and table, or a table with * for all names like it. detail "summary" asks for the short form, "full" for everything; of one partitioned table "full" also lists the partitions.`,
		Schema: object(``,
			`"schema":{"type":"string","description":"Only this schema."}`+
				`,"table":{"type":"string","description":"Only this table, as table or schema.table. With * all tables whose names are like it, for example app.order*."}`+
				`,"detail":{"type":"string","enum":["summary","full"],"description":"summary: names, kinds, estimates. full: columns, keys, indexes and the rest."}`+
				`,"reason":{"type":"string","description":"Optional: what this is for."}`),
		Hints: Hints{ReadOnly: true, Destructive: false, Idempotent: true, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a describeArguments
			if err := decode(describeSchemaUsage, call.Arguments, &a); err != nil {
				return nil, err
			}
			out, _, err := d.describeAndRecord(ctx, a)
			return out, err
		},
	}
}

type describeArguments struct {
	Schema *string `json:"schema"`
	Table  *string `json:"table"`
	Detail *string `json:"detail"`
	Reason string  `json:"reason"`
}

// describe answers with at most maxDescription bytes of entries, unless one table was asked for.
func (d Deps) describe(ctx context.Context, a describeArguments) (_ json.RawMessage, entries int, _ error) {
	if a.Detail != nil && *a.Detail != "summary" && *a.Detail != "full" {
		return nil, 0, invalid(describeSchemaUsage, `detail: must be "summary" or "full"`)
	}
	req, err := d.described(ctx, a)
	if err != nil {
		return nil, 0, err
	}
	req.Full = a.Detail == nil || *a.Detail == "full"
	if req.Table == "" {
		req.Budget = maxDescription
	} else {
		req.Children = a.Detail != nil && *a.Detail == "full"
	}
	list, err := d.Reads.Describe(ctx, req)
	if err != nil {
		return nil, 0, err
	}
	if len(list) == 0 {
		return d.describedNothing(ctx, a, req)
	}
	out, n, err := answer(list, req)
	return out, n, err
}

// answer chooses what of the list goes out: the full entries, else the short ones, else as many of them
// as fit.
func answer(list []Described, req DescribeRequest) (json.RawMessage, int, error) {
	entries, hint := pick(list, func(t Described) json.RawMessage { return t.Entry }), ""
	whole := req.Full && !slices.ContainsFunc(entries, func(e json.RawMessage) bool { return e == nil })
	if !whole || req.Table == "" && size(entries) > maxDescription {
		if entries = pick(list, func(t Described) json.RawMessage { return t.Summary }); req.Full {
			hint = "This is the summary, since the full description is too long. Ask for one schema or one table: " + example(list) + "."
		}
	} else if req.Table != "" && !req.Children && partitioned(entries) {
		hint = `With detail "full" its partitions are listed one by one.`
	}
	truncated := req.Full && !whole || hint != "" && req.Table == ""
	if fit := fitting(entries); len(fit) < len(entries) && req.Table == "" {
		entries, truncated, hint = fit, true, drillDown(list, len(fit))
	}
	out, err := renderDescription(entries, truncated, hint)
	return out, len(entries), err
}

func pick(list []Described, of func(Described) json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, t := range list {
		out[i] = of(t)
	}
	return out
}

func partitioned(entries []json.RawMessage) bool {
	var e struct {
		Partitions *struct {
			Count json.Number `json:"count"`
		} `json:"partitions"`
	}
	return len(entries) == 1 && json.Unmarshal(entries[0], &e) == nil && e.Partitions != nil && e.Partitions.Count != "0"
}

// described turns the arguments into names as Postgres spells them. A table is resolved by the
// guard: unknown ones are refused with near matches, hidden ones look unknown.
func (d Deps) described(ctx context.Context, a describeArguments) (DescribeRequest, error) {
	var req DescribeRequest
	if a.Schema != nil {
		name, err := sqlguard.ParseName(*a.Schema)
		if err != nil {
			return req, err
		}
		if name.Schema != "" {
			return req, invalid(describeSchemaUsage, "schema: must be one name; give the table as table")
		}
		req.Schema = name.Name
	}
	if a.Table == nil {
		return req, nil
	}
	text := *a.Table
	if schema, like, ok := pattern(text); ok {
		return req, req.like(schema, like)
	}
	name, err := sqlguard.ParseName(text)
	if err != nil {
		return req, err
	}
	if a.Schema != nil {
		if name.Schema == "" {
			text = *a.Schema + "." + text
		} else if name.Schema != req.Schema {
			return req, invalid(describeSchemaUsage, "schema and table name different schemas")
		}
	}
	cat := &watched{Catalog: d.ReadonlyCatalog, fresh: true} // rare, and what was just created should show
	r, err := d.Text.ResolveTable(ctx, cat, text)
	if err != nil {
		return req, err
	}
	if what, other := otherKinds[r.Kind]; other {
		return req, refusal.New(refusal.InvalidTableName, fmt.Sprintf("%s is %s, not a table or view.", sqlguard.QuoteName(r.Schema, r.Name), what),
			"If it belongs to a table it is described there; name that table, or a schema.")
	}
	req.Schema, req.Table, req.OID = r.Schema, r.Name, r.OID
	return req, nil
}

// otherKinds are what else has a name among the tables (pg_class.relkind).
var otherKinds = map[byte]string{'S': "a sequence", 'i': "an index", 'I': "an index", 'c': "a composite type", 't': "a TOAST table"}

// like asks for the tables of a pattern, in which * stands for any letters.
func (req *DescribeRequest) like(schema, like string) error {
	if schema != "" {
		name, err := sqlguard.ParseName(schema)
		switch {
		case req.Schema != "" && (err != nil || name.Name != req.Schema):
			like = schema + "." + like // a dot of the tables' own names
		case err != nil:
			return err
		default:
			req.Schema = name.Name
		}
	}
	req.Like = strings.NewReplacer(`"`, ``, `*`, `%`).Replace(literal(strings.ToLower(like)))
	return nil
}

// literal is a text as a LIKE pattern that means it.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// pattern tells whether a text holds a * outside double quotes, and splits it at the first dot there.
func pattern(text string) (schema, like string, ok bool) {
	dot, quoted := -1, false
	for i, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '*':
			ok = true
		case r == '.' && dot < 0 && !ok:
			dot = i
		}
	}
	if dot < 0 {
		return "", text, ok
	}
	return text[:dot], text[dot+1:], ok
}

// describedNothing says what there is instead.
func (d Deps) describedNothing(ctx context.Context, a describeArguments, req DescribeRequest) (json.RawMessage, int, error) {
	hint := "Nothing is readable: the readonly role sees no table, or allowlist.read shows none."
	switch {
	case req.Table != "":
		name := sqlguard.QuoteName(req.Schema, req.Table)
		hint = fmt.Sprintf("%s is there, but the readonly role may not SELECT from it (or allowlist.read does not name it). Ask the operator for GRANT SELECT ON %s.", name, name)
	case req.Schema != "" || req.Like != "":
		list, err := d.Reads.Describe(ctx, DescribeRequest{})
		if err != nil {
			return nil, 0, err
		}
		if len(list) > 0 {
			hint = nothingThere(list, a, req)
		}
	}
	out, err := renderDescription(nil, false, hint)
	return out, 0, err
}

func nothingThere(list []Described, a describeArguments, req DescribeRequest) string {
	what := "There is nothing readable in schema " + sqlguard.QuoteIdent(req.Schema) + "."
	if req.Like != "" {
		what = fmt.Sprintf("There is no readable table like %q.", *a.Table)
	}
	var names []sqlguard.Name
	for _, t := range list {
		if n := (sqlguard.Name{Name: t.Schema}); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if near := sqlguard.NearNames(sqlguard.Name{Name: req.Schema}, names); len(near) > 0 && near[0] != sqlguard.QuoteIdent(req.Schema) {
		what += " Did you mean " + strings.Join(near, ", ") + "?"
	}
	return what + " Schemas: " + schemas(list) + "."
}

func renderDescription(entries []json.RawMessage, truncated bool, hint string) (json.RawMessage, error) {
	if entries == nil {
		entries = []json.RawMessage{}
	}
	out, err := plainJSON(struct {
		Tables    []json.RawMessage `json:"tables"`
		Truncated bool              `json:"truncated"`
		Hint      string            `json:"hint,omitempty"`
	}{entries, truncated, hint})
	if err != nil {
		return nil, fmt.Errorf("rendering the description: %w", err)
	}
	return out, nil
}

func size(entries []json.RawMessage) (bytes int) {
	for _, e := range entries {
		bytes += len(e) + 1
	}
	return bytes
}

// fitting is the longest head of the entries that may go out.
func fitting(entries []json.RawMessage) []json.RawMessage {
	bytes := 0
	for i, e := range entries {
		if bytes += len(e) + 1; bytes > maxDescription {
			return entries[:i]
		}
	}
	return entries
}

// maxGroups is how many beginnings of names a hint lists.
const maxGroups = 40

// drillDown says how to see the rest: by schema, or within one schema by how names begin.
func drillDown(all []Described, shown int) string {
	hint := fmt.Sprintf("Only %s of %s are shown. Ask for one schema or one table: %s.", grouped(int64(shown)), grouped(int64(len(all))), example(all))
	if all[0].Schema != all[len(all)-1].Schema {
		return hint + " Schemas: " + schemas(all) + "."
	}
	return hint + ` A table with * asks for all names like it, such as ` + beginnings(all) + "."
}

// beginnings counts the tables of one schema by how their names begin: the longest beginnings of which
// there are not too many for a hint.
func beginnings(all []Described) string {
	best := map[string]int{"": len(all)}
	for length := 1; length < 64; length++ {
		groups := map[string]int{}
		for _, t := range all {
			r := []rune(strings.ToLower(t.Table))
			groups[string(r[:min(length, len(r))])]++
		}
		if len(groups) > maxGroups {
			break
		}
		best = groups
	}
	names := slices.Sorted(maps.Keys(best))
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = fmt.Sprintf("%s* (%d)", n, best[n])
	}
	return strings.Join(parts, ", ")
}

// example is a pair of arguments that works.
func example(list []Described) string {
	out, err := plainJSON(struct {
		Schema string `json:"schema"`
		Table  string `json:"table"`
	}{sqlguard.QuoteIdent(list[0].Schema), sqlguard.QuoteIdent(list[0].Table)})
	if err != nil { // two strings always marshal
		return ""
	}
	return string(out)
}

// schemas counts the relations of each schema, as many schemas as fit into a hint.
func schemas(list []Described) string {
	count := map[string]int{}
	for _, t := range list {
		count[t.Schema]++
	}
	names := make([]string, 0, len(count))
	for n := range count {
		names = append(names, n)
	}
	sort.Strings(names)
	const most = 50
	var parts []string
	for i, n := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%d)", sqlguard.QuoteIdent(n), count[n]))
	}
	return strings.Join(parts, ", ")
}

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const describeSchemaUsage = `describe_schema takes schema (string), table (string), detail ("summary" or "full") and reason (string); none is required.`

// maxDescription is how many bytes of entries go out unasked: more floods an agent's context.
const maxDescription = 60_000

func describeSchema(d Deps) Tool {
	return Tool{
		Name: "describe_schema", Group: "schema", Tier: "read", Title: "Describe tables",
		Description: `List tables and views with their columns, types, keys, checks, indexes, triggers, partitions, comments and row estimates, and whether this server may write to them. Call it before writing SQL.

Without arguments everything readable is described; if that is too much for one answer you get names, kinds and estimates with truncated: true, and the hint says how to go on: give schema, or schema and table. detail "summary" asks for the short form, "full" for everything.`,
		Schema: object(``,
			`"schema":{"type":"string","description":"Only this schema."}`+
				`,"table":{"type":"string","description":"Only this table, as table or schema.table."}`+
				`,"detail":{"type":"string","enum":["summary","full"],"description":"summary: names, kinds, estimates. full: columns, keys, indexes and the rest."}`+
				`,"reason":{"type":"string","description":"Optional: what this is for."}`),
		Hints: Hints{ReadOnly: true, Destructive: false, Idempotent: true, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a describeArguments
			if err := decode(describeSchemaUsage, call.Arguments, &a); err != nil {
				return nil, err
			}
			started := time.Now()
			out, n, err := d.describe(ctx, a)
			if d.RecordRead != nil {
				d.RecordRead(ctx, ReadEvent{Tool: "describe_schema", Reason: a.Reason, Rows: int64(n), Duration: time.Since(started), Err: err})
			}
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
	list, err := d.Reads.Describe(ctx, req)
	if err != nil {
		return nil, 0, err
	}
	if len(list) == 0 {
		return d.describedNothing(ctx, req)
	}
	hint, truncated := "", false
	if req.Full && req.Table == "" && size(list) > maxDescription {
		req.Full, truncated = false, true
		if list, err = d.Reads.Describe(ctx, req); err != nil {
			return nil, 0, err
		}
		hint = "This is the summary, since the full description is too long. Ask for one schema or one table: " + example(list) + "."
	}
	if size(list) > maxDescription && req.Table == "" {
		all := list
		list, truncated = fitting(list), true
		hint = fmt.Sprintf("Only %s of %s are shown. Ask for one schema or one table: %s. Schemas: %s.",
			grouped(int64(len(list))), grouped(int64(len(all))), example(all), schemas(all))
	}
	out, err := renderDescription(list, truncated, hint)
	return out, len(list), err
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
	req.Schema, req.Table = r.Schema, r.Name
	return req, nil
}

// describedNothing says which schemas there are instead.
func (d Deps) describedNothing(ctx context.Context, req DescribeRequest) (json.RawMessage, int, error) {
	hint := "Nothing is readable: the readonly role sees no table, or allowlist.read shows none."
	if req.Schema != "" {
		list, err := d.Reads.Describe(ctx, DescribeRequest{})
		if err != nil {
			return nil, 0, err
		}
		if len(list) > 0 {
			hint = fmt.Sprintf("There is nothing readable in schema %s. Schemas: %s.", sqlguard.QuoteIdent(req.Schema), schemas(list))
		}
	}
	out, err := renderDescription(nil, false, hint)
	return out, 0, err
}

func renderDescription(list []Described, truncated bool, hint string) (json.RawMessage, error) {
	entries := make([]json.RawMessage, len(list))
	for i, t := range list {
		entries[i] = t.Entry
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

func size(list []Described) (bytes int) {
	for _, t := range list {
		bytes += len(t.Entry) + 1
	}
	return bytes
}

// fitting is the longest head of list that may go out.
func fitting(list []Described) []Described {
	bytes := 0
	for i, t := range list {
		if bytes += len(t.Entry) + 1; bytes > maxDescription {
			return list[:i]
		}
	}
	return list
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

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// ResourceTemplate is where a table is found as a resource (RFC 6570). Schema and table are the names
// as Postgres spells them, percent-encoded, without SQL quotes.
const ResourceTemplate = "postgres://schema/{schema}/{table}"

const (
	resourcePrefix = "postgres://schema/"
	resourcePage   = 200 // resources of one page of the list
	completions    = 100 // MCP, "Completion": at most 100 values
)

// Resource is one table in the list of resources.
type Resource struct{ URI, Name, Description string }

// Resources are the tables as resources of MCP. They show what describe_schema shows, by the same
// code, and are not there when the policy hides that tool.
type Resources struct{ d Deps }

// ResourcesOf returns the resources, nil when the policy hides describe_schema.
func ResourcesOf(d Deps) *Resources {
	if shown, _ := d.Policy.Shows("describe_schema"); !shown {
		return nil
	}
	return &Resources{d}
}

// List returns a page of at most 200 tables, in the order of their names, and what to give as after
// for the next one; "" is the first page, and after the last.
func (r *Resources) List(ctx context.Context, after string) (page []Resource, next string, _ error) {
	list, err := r.d.Reads.Describe(ctx, DescribeRequest{})
	if err != nil {
		return nil, "", err
	}
	from := 0
	if schema, table, ok := resourceNames(after); ok {
		from, _ = slices.BinarySearchFunc(list, [2]string{schema, table + "\x00"}, func(t Described, at [2]string) int {
			return slices.Compare([]string{t.Schema, t.Table}, at[:])
		})
	} else if after != "" {
		return nil, "", nil // not a cursor of ours
	}
	list = list[from:]
	more := len(list) > resourcePage
	if more {
		list = list[:resourcePage]
	}
	page = make([]Resource, len(list))
	for i, t := range list {
		page[i] = Resource{URI: ResourceURI(t.Schema, t.Table), Name: sqlguard.QuoteName(t.Schema, t.Table), Description: inOneLine(t.Summary)}
	}
	if more {
		next = page[len(page)-1].URI
	}
	return page, next, nil
}

// inOneLine is what a list shows of a table: kind, size and comment.
func inOneLine(summary json.RawMessage) string {
	var s struct {
		Kind             string       `json:"kind"`
		Comment          string       `json:"comment"`
		RowCountEstimate *json.Number `json:"rowCountEstimate"`
	}
	if json.Unmarshal(summary, &s) != nil {
		return ""
	}
	out := strings.ReplaceAll(s.Kind, "_", " ")
	if s.RowCountEstimate != nil {
		out += fmt.Sprintf(", about %s rows", *s.RowCountEstimate)
	}
	if comment := []rune(s.Comment); len(comment) > 200 {
		out += ": " + string(comment[:200]) + "…"
	} else if len(comment) > 0 {
		out += ": " + s.Comment
	}
	return out
}

// Read describes the table that uri names, as describe_schema does. A uri that leads to no table is
// INVALID_TABLE_NAME, one that the read allowlist does not name TABLE_NOT_ALLOWLISTED.
func (r *Resources) Read(ctx context.Context, uri string) (json.RawMessage, error) {
	schema, table, ok := resourceNames(uri)
	if !ok {
		return nil, refusal.New(refusal.InvalidTableName, fmt.Sprintf("There is no resource %.300q.", uri),
			"A table is "+ResourceTemplate+", with names as Postgres spells them and percent-encoded, for example "+ResourceURI("app", "Order Items")+".")
	}
	name := sqlguard.QuoteName(schema, table)
	out, n, err := r.d.describeAndRecord(ctx, describeArguments{Table: &name, Reason: "resource " + uri})
	if err == nil && n == 0 {
		var nothing struct{ Hint string }
		if err := json.Unmarshal(out, &nothing); err != nil {
			return nil, fmt.Errorf("reading the description of nothing: %w", err)
		}
		return nil, refusal.New(refusal.InvalidTableName, fmt.Sprintf("There is no readable table %s.", name), nothing.Hint)
	}
	return out, err
}

// Complete returns the values that begin with what was typed of the variable schema or table; given
// holds what the other one is. Of anything else it knows none. more says that there are others.
func (r *Resources) Complete(ctx context.Context, variable, typed string, given map[string]string) (values []string, more bool, _ error) {
	req := DescribeRequest{}
	switch variable {
	case TableArgument:
		req.Schema = given["schema"]
		req.Like = literal(strings.ToLower(typed)) + "%"
	case "schema":
	default:
		return nil, false, nil
	}
	list, err := r.d.Reads.Describe(ctx, req)
	if err != nil {
		return nil, false, err
	}
	for _, t := range list {
		v := t.Table
		if variable == "schema" {
			v = t.Schema
		}
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(typed)) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) > completions {
		values, more = values[:completions], true
	}
	return values, more, nil
}

// ResourceURI is the resource of a table.
func ResourceURI(schema, table string) string {
	return resourcePrefix + percentEncoded(schema) + "/" + percentEncoded(table)
}

// percentEncoded leaves only what a simple expression of a URI template leaves (RFC 6570, 3.2.2), so that
// every client finds the variables again.
func percentEncoded(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// resourceNames are the names of a resource, as Postgres spells them.
func resourceNames(uri string) (schema, table string, ok bool) {
	rest, found := strings.CutPrefix(uri, resourcePrefix)
	if !found || strings.Count(rest, "/") != 1 {
		return "", "", false
	}
	first, second, _ := strings.Cut(rest, "/")
	for _, part := range []*string{&first, &second} {
		plain, err := url.PathUnescape(*part)
		if err != nil || plain == "" || !utf8.ValidString(plain) || strings.ContainsRune(plain, 0) {
			return "", "", false
		}
		*part = plain
	}
	return first, second, true
}

// describeAndRecord is describe, with its line in the audit where reads are recorded.
func (d Deps) describeAndRecord(ctx context.Context, a describeArguments) (json.RawMessage, int, error) {
	started := time.Now()
	out, n, err := d.describe(ctx, a)
	if d.RecordRead != nil {
		d.RecordRead(ctx, ReadEvent{Tool: "describe_schema", Reason: a.Reason, Rows: int64(n), Duration: time.Since(started), Err: err})
	}
	return out, n, err
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// allowlisted checks that what an allowlist names is there, and that the role which uses it has the
// grants to. What is wrong is a warning: the server starts all the same, and a migration may make what is
// missing.
type allowlisted struct {
	*report
	key   string // of the configuration
	list  sqlguard.Allowlist
	pool  *postgres.Pool
	needs []string // rights, as postgres.GrantedRelation has them
	empty string   // what an empty list means
	kinds string   // what the list is for, as relkinds
}

var kindNames = map[byte]string{'r': "a table", 'p': "a table", 'v': "a view", 'm': "a materialized view", 'f': "a foreign table"}

func (p *report) allowlists(ctx context.Context, db *postgres.DB, read, write sqlguard.Allowlist) {
	for _, a := range []allowlisted{
		{p, "allowlist.read", read, db.Readonly(), []string{"USAGE", "SELECT"}, "empty: everything that the role may read", "rpvmf"},
		{p, "allowlist.write", write, db.Writer(), []string{"USAGE", "SELECT", "INSERT", "UPDATE", "DELETE"}, "empty: nothing is writable", "rpv"},
	} {
		switch {
		case !a.list.Empty():
			a.check(ctx)
		case a.key == "allowlist.read":
			a.everything(ctx)
		default:
			a.ok(a.key, a.empty)
		}
	}
	if read.Empty() && !write.Empty() { // else the readonly role was held against its own list
		allowlisted{p, "allowlist.write", write, db.Readonly(), []string{"USAGE", "SELECT"}, "", "rpv"}.unseen(ctx)
	}
}

// everything tells how much an empty read allowlist shows: the role's grants alone decide, and a role
// without any shows an agent an empty database.
func (a allowlisted) everything(ctx context.Context) {
	found, err := a.pool.Granted(ctx, nil, nil)
	if err == nil {
		// mcp_audit is readable only where a list names it.
		found, err = a.pool.Granted(ctx, slices.DeleteFunc(found.Schemas, func(s string) bool { return s == auditTable.Schema }), nil)
	}
	if err != nil {
		a.fail(a.key, err)
		return
	}
	readable := 0
	for _, r := range found.Relations {
		if a.lacks(r) == "" {
			readable++
		}
	}
	who := sqlguard.QuoteIdent(found.Role)
	switch {
	case readable > 0:
		a.ok(a.key, fmt.Sprintf("%s: %d of %d tables and views", a.empty, readable, len(found.Relations)))
	case len(found.Relations) > 0:
		a.warn(a.key, fmt.Sprintf("%s, and role %s may read none of %d tables and views: GRANT USAGE ON SCHEMA …, and SELECT ON ALL TABLES IN SCHEMA …, TO %s", a.empty, who, len(found.Relations), who))
	default:
		a.warn(a.key, a.empty+", and there are no tables in this database")
	}
}

// unseen warns of what may be written and cannot be looked at: the agent would write blindly.
func (a allowlisted) unseen(ctx context.Context) {
	schemas, tables := a.list.Entries()
	found, err := a.pool.Granted(ctx, schemas, tables)
	if err != nil {
		a.fail(a.key, err)
		return
	}
	var names []string
	for _, r := range found.Relations {
		if a.lacks(r) != "" && strings.IndexByte(a.kinds, r.Kind) >= 0 {
			names = append(names, sqlguard.QuoteName(r.Schema, r.Name))
		}
	}
	if len(names) > 0 {
		a.warn(a.key, fmt.Sprintf("role %s may not read %d of the tables that may be written, for example %s: describe_schema and query do not show them", sqlguard.QuoteIdent(found.Role), len(names), names[0]))
	}
}

func (a allowlisted) check(ctx context.Context) {
	schemas, tables := a.list.Entries()
	found, err := a.pool.Granted(ctx, schemas, tables)
	if err != nil {
		a.fail(a.key, err)
		return
	}
	for _, s := range schemas {
		a.schema(found, s)
	}
	a.tables(ctx, found, tables)
}

func (a allowlisted) schema(found *postgres.Granted, schema string) {
	name := sqlguard.QuoteIdent(schema)
	if !slices.Contains(found.Schemas, schema) && schema != "pg_catalog" && schema != "information_schema" {
		have := make([]sqlguard.Name, len(found.Schemas))
		for i, s := range found.Schemas {
			have[i] = sqlguard.Name{Name: s}
		}
		a.warn(a.key, fmt.Sprintf("there is no schema %s%s", name, didYouMean(sqlguard.NearNames(sqlguard.Name{Name: schema}, have))))
		return
	}
	var of []postgres.GrantedRelation
	for _, r := range found.Relations {
		if r.Schema == schema && strings.IndexByte(a.kinds, r.Kind) >= 0 {
			of = append(of, r)
		}
	}
	if len(of) == 0 {
		a.warn(a.key, fmt.Sprintf("schema %s holds no tables", name))
		return
	}
	// The same lack for many tables is one line.
	short := map[string][]string{}
	for _, r := range of {
		if lacks := a.lacks(r); lacks != "" {
			short[lacks] = append(short[lacks], sqlguard.QuoteName(r.Schema, r.Name))
		}
	}
	if len(short) == 0 {
		a.ok(a.key, fmt.Sprintf("schema %s: %d with the grants that role %s needs", name, len(of), sqlguard.QuoteIdent(found.Role)))
		return
	}
	order := make([]string, 0, len(short))
	for lacks := range short {
		order = append(order, lacks)
	}
	slices.Sort(order)
	for _, lacks := range order {
		list := short[lacks]
		a.warn(a.key, fmt.Sprintf("schema %s: role %s lacks %s on %d of %d, for example %s", name, sqlguard.QuoteIdent(found.Role), lacks, len(list), len(of), list[0]))
	}
}

func (a allowlisted) tables(ctx context.Context, found *postgres.Granted, tables []sqlguard.Name) {
	var missing []sqlguard.Name
	fine := 0
	for _, n := range tables {
		i := slices.IndexFunc(found.Relations, func(r postgres.GrantedRelation) bool { return r.Schema == n.Schema && r.Name == n.Name })
		if i < 0 {
			missing = append(missing, n)
			continue
		}
		r := found.Relations[i]
		switch lacks := a.lacks(r); {
		case strings.IndexByte(a.kinds, r.Kind) < 0:
			a.warn(a.key, fmt.Sprintf("%s is %s, which is never writable", n, kindNames[r.Kind]))
		case lacks != "":
			a.warn(a.key, fmt.Sprintf("%s: role %s lacks %s", n, sqlguard.QuoteIdent(found.Role), lacks))
		default:
			fine++
		}
	}
	if fine > 0 {
		a.ok(a.key, fmt.Sprintf("%d of %d tables are there with the grants that role %s needs", fine, len(tables), sqlguard.QuoteIdent(found.Role)))
	}
	for _, n := range missing {
		facts, err := a.pool.Catalog().Lookup(ctx, sqlguard.Lookup{Relations: []sqlguard.Name{n}}, true)
		if err != nil {
			a.fail(a.key, err)
			return
		}
		if rel, ok := facts.Relations[n]; ok && kindNames[rel.Kind] == "" { // an index, a sequence
			a.warn(a.key, n.String()+" is not a table or view")
			continue
		}
		a.warn(a.key, fmt.Sprintf("there is no table %s%s", n, didYouMean(sqlguard.NearNames(n, facts.Candidates))))
	}
}

// lacks names those of the needed rights that are missing.
func (a allowlisted) lacks(r postgres.GrantedRelation) string {
	var out []string
	for _, right := range r.Lacks {
		if slices.Contains(a.needs, right) {
			if right == "USAGE" {
				right = "USAGE on the schema"
			}
			out = append(out, right)
		}
	}
	return strings.Join(out, ", ")
}

func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

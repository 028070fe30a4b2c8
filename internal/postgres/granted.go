package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

//go:embed granted.sql
var grantedSQL string

// Granted is what a pool's role finds of what an allowlist names.
type Granted struct {
	Role      string
	Becomes   Membership // of the role of migrations
	Schemas   []string   // all there are, without the system's
	Relations []GrantedRelation
}

// Membership tells whether a role may become another one.
type Membership int

// The three answers.
const (
	NoMember Membership = iota
	Member
	NoSuchRole
)

const becomesSQL = "SELECT pg_catalog.pg_has_role(r.oid, 'MEMBER') FROM pg_catalog.pg_roles r WHERE r.rolname = $1"

// GrantedRelation is one table, view, materialized view or foreign table.
type GrantedRelation struct {
	Schema, Name string
	Kind         byte // pg_class.relkind
	// Lacks are those of USAGE (on the schema), SELECT, INSERT, UPDATE and DELETE that the role does not
	// have; of SELECT, INSERT and UPDATE one column is enough.
	Lacks []string
	// Owned tells whether the role of migrations (database.migrationRole, else the role itself) owns it or has
	// the rights of its owner, SchemaOpen whether it has USAGE and CREATE on its schema.
	Owned, SchemaOpen bool
}

// Granted looks for every relation of the schemas, and for the tables, and tells what the role may do with
// them. What does not exist is absent. It decides nothing and is meant for check-config.
func (p *Pool) Granted(ctx context.Context, schemas []string, tables []sqlguard.Name) (*Granted, error) {
	out := &Granted{}
	_, err := p.read(ctx, func(s *Session) ([]wire.Reply, error) {
		out.Role = s.Role()
		migrations := p.opts.MigrationRole
		if migrations == "" {
			migrations = out.Role
		}
		of, names := columns(tables)
		replies, err := s.Flush(ctx, wire.Segment{
			{SQL: "BEGIN TRANSACTION READ ONLY"},
			{SQL: catalogTimeouts},
			{SQL: grantedSQL, Params: [][]byte{wire.TextArray(schemas), of, names, []byte(migrations)}},
			{SQL: becomesSQL, Params: [][]byte{[]byte(migrations)}},
			{SQL: `SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%' ORDER BY 1`},
		}, wire.Segment{{SQL: "ROLLBACK"}})
		if err != nil {
			return replies, err
		}
		if e := replies[0].Err; e != nil {
			return replies, fmt.Errorf("looking for what the allowlist names: %w", e)
		}
		for _, row := range replies[0].Results[2].Rows {
			r := GrantedRelation{Schema: string(row[0]), Name: string(row[1]), Kind: row[2][0], Owned: isTrue(row[4]), SchemaOpen: isTrue(row[5])}
			if len(row[3]) > 0 {
				r.Lacks = strings.Split(string(row[3]), ",")
			}
			out.Relations = append(out.Relations, r)
		}
		if rows := replies[0].Results[3].Rows; len(rows) == 0 {
			out.Becomes = NoSuchRole
		} else if isTrue(rows[0][0]) {
			out.Becomes = Member
		}
		for _, row := range replies[0].Results[4].Rows {
			out.Schemas = append(out.Schemas, string(row[0]))
		}
		return replies, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

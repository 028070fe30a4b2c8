package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

var (
	//go:embed check.sql
	checkSQL string
	//go:embed warn.sql
	warnSQL string
)

// The supported range of server_version_num.
const (
	minVersion = 140000
	endVersion = 190000
)

const greetedKey = "sw-greeted"

// RoleError says that a role, or the server behind a connection string, must not be used. It is
// also a refusal (DATABASE_UNAVAILABLE), for calls that meet it later.
type RoleError struct {
	Key       string // configuration key of the connection string
	Role      string // the role's name; empty when it is about the server
	Attribute string // what is wrong, e.g. "is a superuser"
	Hint      string
}

// Error implements error.
func (e *RoleError) Error() string {
	if e.Role == "" {
		return fmt.Sprintf("%s: the server %s", e.Key, e.Attribute)
	}
	return fmt.Sprintf("%s: role %q %s", e.Key, e.Role, e.Attribute)
}

// Unwrap makes it a refusal as well.
func (e *RoleError) Unwrap() error {
	return refusal.New(refusal.DatabaseUnavailable, e.Error(), e.Hint)
}

// lexing tells whether the server reads text as the guard's parser does. Both parameters are
// reported by the server whenever they change (PostgreSQL manual, 55.2.7), so this costs nothing.
func lexing(pc *pgconn.PgConn) error {
	for name, want := range map[string]string{"standard_conforming_strings": "on", "client_encoding": "UTF8"} {
		if got := pc.ParameterStatus(name); got != want {
			return fmt.Errorf("has %s = %q, where only %s is safe", name, got, want)
		}
	}
	return nil
}

// greet checks a new connection before its first use: version, lexing, role. See
// TestChecksOfANewConnection.
func (p *Pool) greet(ctx context.Context, pc *pgconn.PgConn) error {
	c := &collector{}
	pc.CustomData()[collectorKey] = c
	key := p.role.String()
	if err := lexing(pc); err != nil {
		return &RoleError{Key: key, Attribute: err.Error(), Hint: "remove that setting from the role, the database or the pooler"}
	}
	s := &Session{pool: p, pc: pc, collector: c}
	replies, err := s.Flush(ctx, wire.Segment{{SQL: checkSQL, Params: text(p.opts.MigrationRole)}})
	if err != nil {
		return fmt.Errorf("checking a new connection: %w", err)
	}
	if e := replies[0].Err; e != nil {
		return fmt.Errorf("checking a new connection: %w", &pgconn.PgError{Code: e.SQLState, Message: e.Message})
	}
	row := replies[0].Results[0].Rows[0]
	version, err := strconv.Atoi(string(row[0]))
	if err != nil {
		return fmt.Errorf("reading server_version_num: %w", err)
	}
	if version < minVersion || version >= endVersion {
		return &RoleError{
			Key:       key,
			Attribute: fmt.Sprintf("is Postgres %d; supported are 14 to 18", version/10000),
			Hint:      "connect to a server of a supported version",
		}
	}
	s.facts = serverFacts{
		version: version, role: string(row[1]),
		pooled: string(row[7]) != strconv.FormatUint(uint64(pc.PID()), 10),
	}
	if err := p.judgeRole(s.facts.role, string(row[2]), isTrue(row[3])); err != nil {
		return err
	}
	if attributes := string(row[4]); attributes != "" {
		p.db.warnOnce("role %q (%s) has the attribute %s, which it does not need", s.facts.role, key, attributes)
	}
	if s.facts.pooled {
		p.db.warnOnce("%s leads through a connection pooler: everything keeps to one transaction, as poolers need it, but who holds a lock cannot be named", key)
	}
	if p.role == Writer {
		if isTrue(row[5]) {
			// Not kept: after a failover the address leads to a primary again, and the pool must find it.
			// See TestStandbyIsNoWriter.
			return refusal.New(refusal.DatabaseUnavailable,
				fmt.Sprintf("%s leads to a standby server at %s, which only reads", key, p.target.address()),
				"after a failover call again in a moment; otherwise correct the host in "+key)
		}
		if isTrue(row[6]) {
			p.db.warnOnce("role %q (%s) is not a member of database.migrationRole %q: run_migration will fail",
				s.facts.role, key, p.opts.MigrationRole)
		}
	}
	if p.greeted.CompareAndSwap(false, true) {
		if err := p.warnings(ctx, s); err != nil {
			p.greeted.Store(false)
			return err
		}
	}
	pc.CustomData()[greetedKey] = s.facts
	return nil
}

// judgeRole refuses a role that makes the walls in the database worthless, and the same role for
// both pools. database.allowPrivilegedRoles turns that into a warning.
func (p *Pool) judgeRole(role, dangers string, ownsAudit bool) error {
	var found []string
	if dangers != "" {
		found = append(found, strings.Split(dangers, "; ")...)
	}
	if ownsAudit && p.role == Writer {
		found = append(found, "owns mcp_audit or can become its owner, so it could rewrite the record")
	} else if ownsAudit {
		p.db.warnOnce("role %q (%s) owns mcp_audit or can become its owner", role, p.role)
	}
	p.db.mu.Lock()
	p.db.roles[p.role] = role
	if other, known := p.db.roles[1-p.role]; known && other == role {
		found = append(found, "is the role of the other connection string too; reading and writing need two roles")
	}
	p.db.mu.Unlock()
	for _, what := range found {
		e := &RoleError{
			Key: p.role.String(), Role: role, Attribute: what,
			Hint: "use the roles of docker/init (readonly, writer), or set database.allowPrivilegedRoles to true and accept the risk",
		}
		if !p.opts.AllowPrivileged {
			return e
		}
		p.db.warnOnce("%s; allowed by database.allowPrivilegedRoles", e)
	}
	return nil
}

// warnings looks for what is legal and unwise. It is asked once per pool.
func (p *Pool) warnings(ctx context.Context, s *Session) error {
	replies, err := s.Flush(ctx, wire.Segment{{SQL: warnSQL}})
	if err != nil {
		return fmt.Errorf("checking grants: %w", err)
	}
	if e := replies[0].Err; e != nil {
		p.db.warnOnce("the grants of role %q (%s) could not be checked: %s", s.facts.role, p.role, e.Error())
		return nil
	}
	row := replies[0].Results[0].Rows[0]
	writable, creatable, owned := string(row[0]), string(row[1]), string(row[2])
	hasLog, hasOutcome, hasIndex, mayLog, mayAlter := isTrue(row[3]), isTrue(row[4]), isTrue(row[5]), isTrue(row[6]), isTrue(row[7])
	who := fmt.Sprintf("role %q (%s)", s.facts.role, p.role)
	if p.role == Readonly {
		if writable != "" {
			p.db.warnOnce("%s may write, for example to %s; READ ONLY transactions still stop it, but the grant should go", who, writable)
		}
		if creatable != "" {
			p.db.warnOnce("%s may create objects in schema %s; REVOKE CREATE ON SCHEMA %s FROM PUBLIC", who, creatable, creatable)
		}
		if definer := string(row[8]); definer != "" {
			p.db.warnOnce("%s may call functions that run with the rights of their owner (SECURITY DEFINER), for example %s; READ ONLY transactions still stop what they write, but REVOKE EXECUTE from whoever should not", who, definer)
		}
		return nil
	}
	if owned != "" {
		p.db.warnOnce("%s owns application tables, for example %s: an owner can drop what it owns and escape row security", who, owned)
	}
	switch {
	case !hasLog:
		p.db.warnOnce("there is no table mcp_audit.log: nothing will be recorded; run docker/init/02_audit.sql")
	case !mayLog:
		p.db.warnOnce("%s may not INSERT into mcp_audit.log: nothing will be recorded; run docker/init/02_audit.sql", who)
	case !hasOutcome || !hasIndex:
		p.db.warnOnce("mcp_audit lacks outcome() or the unique index on plan_token: after a crash the outcome of a plan cannot be told; run docker/init/02_audit.sql")
	}
	if mayAlter {
		p.db.warnOnce("%s may change rows of mcp_audit.log; it should have INSERT only", who)
	}
	return nil
}

func isTrue(v []byte) bool { return string(v) == "t" }

// IsRoleError reports whether err says that a role or server must not be used.
func IsRoleError(err error) bool {
	var e *RoleError
	return errors.As(err, &e)
}

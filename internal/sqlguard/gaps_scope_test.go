package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// What a function of a read touches besides the names in the text is held against what may be read, not
// against those names alone: with an empty allowlist that is everything but the audit trail, with one
// what it lists. Functions that print definitions lock what they speak of, which is no reading.
func TestFunctionsMayReadWhatIsReadable(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
		CREATE SCHEMA app; CREATE SCHEMA secret; GRANT USAGE ON SCHEMA app, secret TO readonly;
		CREATE TABLE app.t (id int PRIMARY KEY, note text); INSERT INTO app.t SELECT g, repeat(md5(g::text), 200) FROM generate_series(1, 50) g;
		CREATE TABLE app.parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
		CREATE TABLE app.part_1 PARTITION OF app.parts FOR VALUES FROM (0) TO (10); INSERT INTO app.parts VALUES (1);
		CREATE TABLE secret.s (id int, note text); INSERT INTO secret.s VALUES (1, 'hush');
		CREATE VIEW app.v AS SELECT id, note FROM app.t; CREATE VIEW app.over AS SELECT id FROM secret.s;
		CREATE VIEW app.audited AS SELECT id FROM mcp_audit.log;
		CREATE VIEW app.listing AS SELECT viewname::text AS name, definition FROM pg_views WHERE schemaname = 'app';
		CREATE TABLE app.far (id int); ALTER TABLE app.far ENABLE ROW LEVEL SECURITY;
		GRANT SELECT ON ALL TABLES IN SCHEMA app, secret TO readonly;
		CREATE FUNCTION app.longest() RETURNS int STABLE LANGUAGE sql AS 'SELECT max(length(note)) FROM app.t WHERE id > 2';
		CREATE FUNCTION app.parts_sum() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT sum(id) FROM app.part_1';
		CREATE FUNCTION app.peek() RETURNS text STABLE LANGUAGE sql AS 'SELECT note FROM secret.s';
		CREATE FUNCTION app.audit() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM mcp_audit.log'`)
	functions := []string{"app.longest", "app.parts_sum", "app.peek", "app.audit"}
	open := sqlguard.New(policyOf(t, nil, nil, nil))
	tight := sqlguard.New(policyOf(t, []string{"app.t", "app.v", "app.over", "app.parts"}, nil, functions))
	schemas, err := sqlguard.ParseAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	bySchema := sqlguard.New(sqlguard.Policy{Read: schemas, AllowFunctions: functions})
	for _, c := range []struct {
		sql                    string
		open, tight, byASchema bool
	}{
		{"SELECT app.longest()", true, true, true},
		{"SELECT app.longest(), note FROM app.v", true, true, true},
		{"SELECT app.parts_sum()", true, true, true}, // by its root
		{"SELECT app.peek()", true, false, false},
		{"SELECT app.audit()", false, false, false},
		{"SELECT app.longest() WHERE app.audit() > 0", false, false, false},
		{"SELECT pg_get_viewdef('app.v'::regclass)", true, true, true},
		{"SELECT pg_get_viewdef('app.over'::regclass)", true, false, false}, // its text names secret.s
		{"SELECT pg_get_viewdef('app.audited'::regclass)", true, false, false},
		{"SELECT viewname, definition FROM pg_views", true, false, false},
		{"SELECT * FROM pg_rules", true, false, false},
		{"SELECT table_name, view_definition FROM information_schema.views", true, false, false},
		{"SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef", true, false, false},
		{"SELECT column_name, column_default FROM information_schema.columns", true, false, false},
		{"SELECT pg_get_constraintdef(oid) FROM pg_constraint", true, false, false},
		{"SELECT * FROM pg_indexes", true, false, false},
		{"SELECT * FROM pg_matviews", true, false, false},
		{"SELECT * FROM app.listing", true, false, false},
	} {
		for name, g := range map[string]struct {
			guard *sqlguard.Guard
			ok    bool
		}{"open": {open, c.open}, "tight": {tight, c.tight}, "schema": {bySchema, c.byASchema}} {
			_, err := s.read(t, g.guard, c.sql)
			if g.ok {
				require.NoError(t, err, "%s: %s", name, c.sql)
				continue
			}
			require.Error(t, err, "%s: %s", name, c.sql)
			_, ok := refusal.As(err)
			require.True(t, ok, "%s: %s: %v", name, c.sql, err)
			require.NotContains(t, err.Error(), "hush")
		}
	}
}

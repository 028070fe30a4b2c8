package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// TestMigrationsThatTheRoleMayNotMake: one SQLSTATE stands for everything that a role may lack; the hint is about
// what it is.
func TestMigrationsThatTheRoleMayNotMake(t *testing.T) {
	t.Parallel()
	const others = "RESET ROLE; CREATE TABLE theirs (id int PRIMARY KEY); GRANT SELECT ON theirs TO readonly, writer; "
	for name, c := range map[string]struct {
		role, sql, hint, more string
	}{
		"another's table":                {"migrator", "ALTER TABLE app.theirs ADD v int", "the migration role migrator lacks: to own this object", ""},
		"a foreign key to another's":     {"migrator", "ALTER TABLE app.t ADD FOREIGN KEY (id) REFERENCES app.theirs", "REFERENCES for a foreign key", ""},
		"a schema that it may not use":   {"migrator", "CREATE INDEX ON app.t (v)", "lacks: USAGE and CREATE on this schema", "ALTER SCHEMA app OWNER TO CURRENT_USER"},
		"no member of the role":          {"pg_monitor", "ALTER TABLE app.t ADD v int", "GRANT pg_monitor TO", ""},
		"none, and the writer owns none": {"", "ALTER TABLE app.t ADD v int", "set database.migrationRole", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tinySQL+others+c.more, func(o *writecore.Options) { o.MigrationRole = c.role })
			_, err := b.migrate(c.sql)
			requireCode(t, err, refusal.WriteFailed)
			e, _ := refusal.As(err)
			require.Contains(t, e.Message, "42501")
			require.Contains(t, e.Hint, c.hint, e.Message)
		})
	}
}

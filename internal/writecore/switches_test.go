package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TestMigrationSwitches: switching row security or a trigger says what changes for whom; where nothing changes,
// and where a table or trigger is new, nothing is said.
func TestMigrationSwitches(t *testing.T) {
	t.Parallel()
	b := setup(t, `CREATE TABLE bare (id int); CREATE TABLE ruled (id int); CREATE POLICY p ON ruled USING (id > 0); CREATE TABLE secured (id int); ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
		CREATE POLICY p ON secured USING (id > 0);
		CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		CREATE TRIGGER "on" BEFORE UPDATE ON bare FOR EACH ROW EXECUTE FUNCTION f(); CREATE TRIGGER off BEFORE UPDATE ON bare FOR EACH ROW EXECUTE FUNCTION f(); ALTER TABLE bare DISABLE TRIGGER off;`)
	for text, want := range map[string][]string{
		"ALTER TABLE app.bare ENABLE ROW LEVEL SECURITY":                                    {"ROW_SECURITY Row security is switched on for app.bare, which has no policy: every role but its owner (and superusers) sees and changes no row of it any more."},
		"ALTER TABLE app.ruled ENABLE ROW LEVEL SECURITY":                                   {"ROW_SECURITY Row security is switched on for app.ruled: every role but its owner (and superusers) sees and changes only the rows that its policies (1) show."},
		"ALTER TABLE app.ruled ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY":         {"ROW_SECURITY Row security is switched on for app.ruled: every role, its owner too (but not superusers), sees and changes only the rows that its policies (1) show."},
		"ALTER TABLE app.secured FORCE ROW LEVEL SECURITY":                                  {"ROW_SECURITY Row security of app.secured binds its owner as well from now on: it sees and changes only the rows that the policies (1) show."},
		"ALTER TABLE app.bare FORCE ROW LEVEL SECURITY":                                     {"ROW_SECURITY Row security of app.bare will bind its owner as well, once it is switched on."},
		"ALTER TABLE app.secured ENABLE ROW LEVEL SECURITY":                                 nil,
		"ALTER TABLE app.secured ADD COLUMN x int":                                          nil,
		`ALTER TABLE app.bare DISABLE TRIGGER "on"`:                                         {`TRIGGER_SWITCHED The trigger "on" of app.bare is switched off: what it checks or writes no longer happens, whoever changes the table, until it is switched on again.`},
		"ALTER TABLE app.bare DISABLE TRIGGER off":                                          nil,
		"ALTER TABLE app.bare ENABLE TRIGGER USER":                                          {"TRIGGER_SWITCHED The trigger off of app.bare is switched on: it runs for every change from now on, except those that replication applies."},
		"ALTER TABLE app.bare ENABLE ALWAYS TRIGGER off":                                    {"TRIGGER_SWITCHED The trigger off of app.bare is switched on for all: it runs for every change from now on, also for those that replication applies."},
		"ALTER TABLE app.bare ENABLE REPLICA TRIGGER off":                                   {"TRIGGER_SWITCHED The trigger off of app.bare runs only for changes that replication applies from now on: what it checks or writes no longer happens for anybody else."},
		"CREATE TRIGGER x BEFORE UPDATE ON app.ruled FOR EACH ROW EXECUTE FUNCTION app.f()": nil,
	} {
		r, err := b.migrate(text)
		require.NoError(t, err, text)
		var got []string
		for _, w := range r.Plan.Warnings {
			if w.Code == plan.WarnRowSecurity || w.Code == plan.WarnTriggerSwitched {
				got = append(got, w.Code+" "+w.Message)
			}
		}
		require.Equal(t, want, got, text)
	}
}

package tests

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

var (
	//go:embed mask_world.sql
	maskWorldSQL string
	//go:embed mask_attacks.sql
	maskAttacks string
	//go:embed mask_migrations.sql
	maskMigrations string
)

// maskSecrets are parts of the masked values of mask_world.sql that stand nowhere else. A few digits alone are
// none: times and durations have them too.
var maskSecrets = []string{
	"zebedee", "quartz", "hidden-mail", "987-65", "65-4321", "171 555", "91234.56", "vortex",
	"4321-56-789", "7a65626564", // the number backwards, and the address in hex
}

// masksOf is the setting mask, of a column and how it is masked each.
func masksOf(list ...string) (out []map[string]string) {
	for _, m := range list {
		at := strings.LastIndexByte(m, ' ')
		out = append(out, map[string]string{"column": m[:at], "as": m[at+1:]})
	}
	return out
}

func maskConfig(extra map[string]any) options {
	cfg := map[string]any{"mask": masksOf("app.users.email hash", "app.users.ssn null", "app.users.phone partial", "app.users.pay null", "app.users.tags partial", "app.users.doc partial",
		"app.events.payload hash", "app.staff.badge null", `app."Odd Users"."E-Mail" null`, "app.broken.gone null", "app.later.token null", "app.v_own.contact partial",
		"app.pairs.two hash", "app.letters.body partial")}
	maps.Copy(cfg, extra)
	return options{config: cfg}
}

func maskWorld(t testing.TB) *pgtemp.DB {
	t.Helper()
	db := pgtemp.New(t)
	db.Exec(t, maskWorldSQL)
	return db
}

// nothingMasked requires that no masked value has come out anywhere: stdout, stderr, the audit trail.
func nothingMasked(t testing.TB, s *server) {
	t.Helper()
	s.mu.Lock()
	stdout := strings.Join(s.stdout, "")
	s.mu.Unlock()
	trail := fmt.Sprint(s.db.Query(t, "SELECT l::text FROM mcp_audit.log l"))
	for _, secret := range maskSecrets {
		require.NotContains(t, strings.ToLower(stdout), secret, "stdout")
		require.NotContains(t, strings.ToLower(s.log()), secret, "stderr")
		require.NotContains(t, strings.ToLower(trail), secret, "the audit trail")
	}
}

func maskLines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			out = append(out, line)
		}
	}
	return out
}

// Reads that try to see a masked column: none does, and none is answered. They are tried with query and with
// explain_plan, and inside the where of a write.
func TestMaskedColumnsStayHidden(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	s := start(t, db, maskConfig(map[string]any{"audit": map[string]any{"reads": true}}))
	attacks := maskLines(maskAttacks)
	require.Greater(t, len(attacks), 60)
	codes := []string{"MASKED_COLUMN", "FUNCTION_NOT_ALLOWED", "TABLE_NOT_ALLOWLISTED", "INVALID_INPUT"} // the last: there is no function email
	for _, text := range attacks {
		alone := map[string]any{"statement": text, "reason": "a test"}
		inside := map[string]any{"table": "app.contacts", "where": "EXISTS (" + text + ")", "reason": "a test"}
		if strings.Contains(text, "$1") {
			alone["params"], inside["params"] = []string{"zeb"}, []string{"zeb"}
		}
		calls := []*pending{s.begin("query", alone), s.begin("explain_plan", alone), s.begin("delete_rows", inside)}
		for _, p := range calls {
			r := p.reply()
			require.True(t, r.isError, "%s: %s was answered: %s", p.what, text, r.text)
			require.Contains(t, codes, r.code, "%s: %s: %s", p.what, text, r.message)
			require.NotEmpty(t, r.hint)
		}
	}
	nothingMasked(t, s)
}

// What is rightly accepted, with exactly what the agent sees.
func TestMaskedAnswers(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	s := start(t, db, maskConfig(nil))
	type answer struct {
		Rows   []map[string]any `json:"rows"`
		Types  []string         `json:"column_types"`
		Masked []string         `json:"masked"`
		Hint   string           `json:"hint"`
	}
	ask := func(text string, params ...any) answer {
		var a answer
		s.call("query", map[string]any{"statement": text, "params": append([]any{}, params...), "reason": "a test"}).ok(t, &a)
		return a
	}
	a := ask("SELECT email FROM app.users ORDER BY id")
	hash, _ := a.Rows[0]["email"].(string)
	require.Regexp(t, `^hash:[0-9a-f]{16}$`, hash)
	require.Equal(t, []map[string]any{{"email": hash}, {"email": hash}, {"email": nil}}, a.Rows, "equal values have equal hashes, null is null")
	require.Equal(t, []string{"email (hash)"}, a.Masked)
	require.Equal(t, []string{"text"}, a.Types)
	require.Contains(t, a.Hint, "masked")

	require.Equal(t, []map[string]any{{"name": "Ann"}}, ask("SELECT u.name FROM app.users u WHERE u.id = 1").Rows, "a column that is named as a function")

	whole := map[string]any{
		"id": "1", "name": "Ann", "team": "red", "email": hash, "ssn": nil, "phone": "+***", "pay": nil, "tags": "{***", "doc": "{***",
	}
	up := ask("TABLE app.users").Rows[0]["email_up"]
	require.Regexp(t, `^hash:[0-9a-f]{16}$`, up, "what is generated from a masked column is masked")
	whole["email_up"] = up
	for _, text := range []string{
		"SELECT * FROM app.users WHERE id = 1", "SELECT u.* FROM app.users u WHERE u.id = 1", "SELECT * FROM (app.users u JOIN app.contacts c ON c.id = u.id) WHERE u.id = 99 OR true ORDER BY u.id LIMIT 1",
	} {
		got := ask(text)
		require.Len(t, got.Masked, 7, text)
		for k, v := range whole {
			if k == "id" || k == "email" { // twice in the join
				continue
			}
			require.Equal(t, v, got.Rows[0][k], "%s: %s", text, k)
		}
	}
	for text, want := range map[string][]map[string]any{
		"SELECT phone FROM app.users ORDER BY id":                                                                   {{"phone": "+***"}, {"phone": "***"}, {"phone": nil}},
		"SELECT email AS m FROM app.users WHERE id = 1":                                                             {{"m": hash}},
		"SELECT u.email, c.email FROM app.users u JOIN app.contacts c ON c.id = u.id WHERE u.id = 1":                {{"email": hash, "email_2": "public@open.example"}},
		"SELECT c.email, lower(c.email) AS l FROM app.contacts c, app.users u WHERE u.id = 1 AND c.id = 1":          {{"email": "public@open.example", "l": "public@open.example"}},
		"SELECT count(*) FROM app.users":                                                                            {{"count": "3"}},
		"SELECT count(*) FROM app.users WHERE email IS NULL":                                                        {{"count": "1"}},
		"SELECT id, email IS NOT NULL AS has FROM app.users ORDER BY id DESC":                                       {{"id": "3", "has": false}, {"id": "2", "has": true}, {"id": "1", "has": true}},
		"SELECT team, count(*) FROM app.users GROUP BY team ORDER BY team":                                          {{"team": "blue", "count": "1"}, {"team": "red", "count": "2"}},
		"SELECT id, email FROM app.users GROUP BY id ORDER BY id LIMIT 1":                                           {{"id": "1", "email": hash}},
		"SELECT 1 AS one WHERE EXISTS (SELECT * FROM app.users WHERE id = 1)":                                       {{"one": json.Number("1")}},
		"WITH t AS (SELECT id FROM app.users WHERE team = 'red') SELECT u.email FROM app.users u JOIN t USING (id)": {{"email": hash}, {"email": hash}},
		"SELECT payload FROM app.events WHERE id = 2":                                                               {},
		"SELECT badge FROM app.guests":                                                                              {{"badge": nil}},
		"SELECT badge FROM app.people":                                                                              {{"badge": nil}, {"badge": nil}},
		`SELECT "E-Mail" FROM app."Odd Users"`:                                                                      {{"E-Mail": nil}},
		"SELECT * FROM app.v_names ORDER BY id LIMIT 1":                                                             {{"id": "1", "name": "Ann"}},
		"SELECT contact FROM app.v_own ORDER BY id":                                                                 {{"contact": "p***"}, {"contact": "s***"}},
		"SELECT o.contact, c.email FROM app.v_own o JOIN app.contacts c USING (id) WHERE id = 1":                    {{"contact": "p***", "email": "public@open.example"}},
		"SELECT * FROM app.v_beside ORDER BY id LIMIT 1":                                                            {{"id": "1"}},
		"SELECT attname FROM app.v_attributes WHERE attrelid = 'app.guests'::regclass AND attname = 'badge'":        {{"attname": "badge"}},
		"SELECT attmissingval FROM pg_attribute WHERE attrelid = 'app.users'::regclass AND attnum = 1":              {{"attmissingval": nil}},
	} {
		got, err := json.Marshal(ask(text).Rows)
		require.NoError(t, err)
		expected, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(expected), string(got), text)
	}
	a = ask("SELECT id, email = $1 AS same FROM app.users ORDER BY id", "zebedee.quartz@hidden"+"-mail.example")
	require.Equal(t, []map[string]any{{"id": "1", "same": true}, {"id": "2", "same": true}, {"id": "3", "same": nil}}, a.Rows, "equality is what is left")
	require.Empty(t, a.Masked)
	require.Regexp(t, `^hash:`, ask("SELECT payload FROM app.events").Rows[0]["payload"])
	require.Equal(t, ask("SELECT payload FROM app.events").Rows, ask("SELECT payload FROM app.events_24").Rows)

	// A table that a mask names comes into being, and a mask's column gets its name back.
	db.Exec(t, `SET ROLE migrator; CREATE TABLE app.later (id int, token text); INSERT INTO app.later VALUES (1, 'later-vortex');
		ALTER TABLE app.broken RENAME renamed TO gone; RESET ROLE`)
	require.Equal(t, []map[string]any{{"id": 1.0, "token": nil}}, ask("SELECT * FROM app.later").Rows)
	require.Equal(t, []map[string]any{{"gone": nil}}, ask("SELECT gone FROM app.broken").Rows)
	// And another loses its column: closed at once.
	db.Exec(t, "ALTER TABLE app.later RENAME token TO other")
	r := s.call("query", map[string]any{"statement": "SELECT other FROM app.later", "reason": "a test"})
	require.Equal(t, "MASKED_COLUMN", r.code)
	nothingMasked(t, s)
}

// Previews, their execution and their errors: the agent sees masked values, the person the true ones.
func TestMaskedWrites(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	o := maskConfig(map[string]any{"write": map[string]any{"approvalRequiredAboveRows": 0}})
	s := start(t, db, o)
	type masked struct {
		preview
		Masked  []string         `json:"masked"`
		Samples []map[string]any `json:"sample_rows"`
		Pairs   []struct {
			Key, Before, After map[string]any
		} `json:"changes"`
	}
	var p masked
	s.call("update_rows", map[string]any{
		"table": "app.users", "set": map[string]any{"email": "new@open.example", "ssn": "1", "name": "Zoe"}, "where": "id = 1", "reason": "a test",
	}).ok(t, &p)
	require.Equal(t, []string{"email", "ssn", "phone", "pay", "tags", "doc", "email_up"}, p.Masked)
	require.Len(t, p.Pairs, 1)
	before, after := p.Pairs[0].Before, p.Pairs[0].After
	require.Regexp(t, "^hash:", before["email"])
	require.Regexp(t, "^hash:", after["email"])
	require.NotEqual(t, before["email"], after["email"])
	require.Equal(t, "Ann", before["name"])
	require.Nil(t, before["ssn"])
	require.Equal(t, "+***", p.Samples[0]["phone"])
	page := string(s.get("/api/plans").body)
	require.Contains(t, page, "zebedee.quartz@hidden-mail.example", "the person decides with the true values")
	require.Contains(t, page, `"columns":["name","email","ssn","email_up"],"right":[false,false,false,false],"masked":[false,true,true,true]`, "and marked as masked")
	s.approve(p.Token)
	s.execute(p.preview)
	require.Equal(t, "new@open.example", db.Query(t, "SELECT email FROM app.users WHERE id = 1")[0][0])

	s.call("delete_rows", map[string]any{"table": "app.users", "where": "id = 2 AND email IS NOT NULL", "reason": "a test"}).ok(t, &p)
	require.Regexp(t, "^hash:", p.Samples[0]["email"])
	s.call("insert_rows", map[string]any{"table": "app.users", "columns": []string{"name", "email"}, "rows": [][]any{{"New", "third@open.example"}}, "reason": "a test"}).ok(t, &p)
	require.Regexp(t, "^hash:", p.Samples[0]["email"])
	s.approve(p.Token)
	done := s.execute(p.preview)
	require.Len(t, done.Rows, 1)
	require.Contains(t, string(done.Rows[0]), `"email_up":"hash:`, "what is generated is read back, masked")

	for _, args := range []map[string]any{
		{"set_expressions": map[string]any{"name": "email"}, "where": "id = 1"},
		{"set_expressions": map[string]any{"name": "lower(users.email)"}, "where": "id = 1"},
		{"set_expressions": map[string]any{"name": "(SELECT u.email FROM app.users u LIMIT 1)"}, "where": "id = 1"},
		{"set_expressions": map[string]any{"name": "users::text"}, "where": "id = 1"},
		{"set_expressions": map[string]any{"name": "users.row_to_json"}, "where": "id = 1"},
		{"set": map[string]any{"name": "x"}, "where": "users.record_out::text LIKE '%z%'"},
		{"set_expressions": map[string]any{"email": "lower(email)"}, "where": "id = 1"},
		{"set": map[string]any{"name": "x"}, "where": "email LIKE 'z%'"},
		{"set": map[string]any{"name": "x"}, "where": "users.pay > 5"},
		{"set": map[string]any{"name": "x"}, "where": "(SELECT email) > 'a'"},
	} {
		args["table"], args["reason"] = "app.users", "a test"
		if args["set"] == nil {
			args["set"] = map[string]any{}
		}
		r := s.call("update_rows", args)
		require.Equal(t, "MASKED_COLUMN", r.code, "%v: %s", args, r.text)
	}
	for _, table := range []string{"app.v_users", "app.broken"} {
		r := s.call("delete_rows", map[string]any{"table": table, "where": "id = 1", "reason": "a test"})
		require.Equal(t, "MASKED_COLUMN", r.code)
	}
	s.call("update_rows", map[string]any{"table": "app.users", "set": map[string]any{"team": "green"}, "where": "email = $1", "params": []string{"nobody@open.example"}, "reason": "a test"}).ok(t, &p)
	require.Zero(t, p.Affected)
	// What triggers say of values is held back, whatever they say it as.
	for _, note := range []string{"raise", "raise as check", "raise as type", "cast", "execute"} {
		r := s.call("update_rows", map[string]any{"table": "app.contacts", "set": map[string]any{"note": note}, "where": "id = 1", "reason": "a test"})
		require.Contains(t, []string{"WRITE_FAILED", "INVALID_TABLE_NAME"}, r.code, note) // the latter: what EXECUTE made of it
		require.Contains(t, r.message, "SQLSTATE")
	}
	// What is known to hold no value stays readable.
	r := s.call("insert_rows", map[string]any{"table": "app.contacts", "columns": []string{"id"}, "rows": [][]any{{1}}, "reason": "a test"})
	require.Contains(t, r.message, "duplicate key value violates unique constraint", r.message)
	nothingMasked(t, s)
}

// uncoverNothing wants migrations refused by one of the codes, but for those behind OK.
func uncoverNothing(t *testing.T, s *server, attacks []string, codes ...string) {
	t.Helper()
	for _, text := range attacks {
		statement, allowed := strings.CutPrefix(text, "OK ")
		r := s.call("run_migration", map[string]any{"statement": statement, "reason": "a test"})
		if allowed {
			require.False(t, r.isError, "%s: %s %s", text, r.code, r.message)
			continue
		}
		require.True(t, r.isError, "%s: %s", text, r.text)
		require.Contains(t, codes, r.code, "%s: %s", text, r.message)
		require.NotEmpty(t, r.hint)
	}
}

// Migrations that would take a column, a table or its values out from under a mask.
func TestMigrationsDoNotUncover(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	s := start(t, db, maskConfig(nil))
	attacks := maskLines(maskMigrations)
	require.Greater(t, len(attacks), 25)
	uncoverNothing(t, s, attacks, "MASKED_COLUMN", "FUNCTION_NOT_ALLOWED")
	nothingMasked(t, s)
}

// With query.allowFunctions the operator vouches for a function; what it reads of masked tables that the text
// does not name is seen all the same.
func TestAllowedFunctionsAreWatched(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	db.Exec(t, `SET ROLE migrator; CREATE FUNCTION app.plain(text) RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RETURN upper($1); END';
		CREATE FUNCTION app.view_of(bigint) RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT mail FROM app.m_users WHERE id = $1); END'; RESET ROLE`)
	s := start(t, db, maskConfig(map[string]any{"query": map[string]any{"allowFunctions": []string{"app.mail_of", "app.row_of", "app.plain", "app.view_of", "app.tell"}}}))
	for _, text := range []string{"SELECT app.mail_of(1)", "SELECT * FROM app.row_of(1)", "SELECT (app.row_of(1)).email", "SELECT app.view_of(1)", "SELECT app.mail_of(id) FROM app.contacts"} {
		r := s.call("query", map[string]any{"statement": text, "reason": "a test"})
		require.True(t, r.isError, "%s: %s", text, r.text)
		require.Equal(t, "TABLE_NOT_ALLOWLISTED", r.code, "%s: %s", text, r.message)
	}
	r := s.call("query", map[string]any{"statement": "SELECT app.plain(note) FROM app.contacts", "reason": "a test"})
	require.False(t, r.isError, r.message)
	// A trigger's condition has two more names for the row.
	for when, code := range map[string]string{
		"OLD::text LIKE '%z%'": "MASKED_COLUMN", "new::text LIKE '%z%'": "MASKED_COLUMN", "OLD IS DISTINCT FROM NEW": "MASKED_COLUMN", "OLD.* IS DISTINCT FROM NEW.*": "MASKED_COLUMN",
		"(old).email > 'm'": "MASKED_COLUMN", "NEW.email > 'm'": "MASKED_COLUMN", "OLD.record_out::text LIKE '%z%'": "MASKED_COLUMN", "(NEW.user_row).pay > 5": "MASKED_COLUMN",
		"OLD.team IS DISTINCT FROM NEW.team": "",
	} {
		r := s.call("run_migration", map[string]any{"statement": "CREATE TRIGGER t BEFORE UPDATE ON app.users FOR EACH ROW WHEN (" + when + ") EXECUTE FUNCTION app.tell()", "reason": "a test"})
		require.Equal(t, code, r.code, "%s: %s", when, r.message)
	}
	nothingMasked(t, s)
}

// The operator is told what every mask means, at the start and by check-config.
func TestMasksAreChecked(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	o := maskConfig(nil)
	o.args = []string{"check-config"}
	r := runToEnd(t, db, o)
	for _, want := range []string{
		"ok    mask                   app.users.email: hash",
		`ok    mask                   app."Odd Users"."E-Mail": null`,
		"warn  mask                   app.broken.gone: there is no such column",
		"warn  mask                   app.later.token: there is no such table",
	} {
		require.Contains(t, r.stdout, want)
	}
	s := start(t, db, maskConfig(nil))
	eventually(t, "the warnings of the masks", func() bool {
		return strings.Contains(s.log(), "app.broken.gone") && strings.Contains(s.log(), "app.later.token")
	})
}

// An agent can see beforehand what is masked.
func TestDescribeSaysWhatIsMasked(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	s := start(t, db, maskConfig(nil))
	for table, want := range map[string]map[string]string{
		"users":     {"id": "", "email": "hash", "ssn": "null", "phone": "partial", "email_up": "hash"},
		"events":    {"payload": "hash", "at": ""},
		"events_24": {"payload": "hash"},
		"people":    {"badge": "null"},
		"guests":    {"badge": "null"},
		"contacts":  {"email": ""},
	} {
		var d struct {
			Tables []struct {
				Columns []struct{ Name, Masked string }
			}
		}
		s.call("describe_schema", map[string]any{"schema": "app", "table": table, "reason": "a test"}).ok(t, &d)
		require.Len(t, d.Tables, 1, table)
		got := map[string]string{}
		for _, c := range d.Tables[0].Columns {
			got[c.Name] = c.Masked
		}
		for column, as := range want {
			require.Equal(t, as, got[column], "%s.%s", table, column)
		}
	}
}

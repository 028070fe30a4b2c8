package tests

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// oddPasswords are what people have: characters that end a part of a URL, or quote in a keyword string.
var oddPasswords = map[string]string{
	"brackets and all": `+S-@u]JB^k(2%#/?`,
	"a hash":           `p#ss`,
	"quotes":           `it's "x" \ y`,
	"looks encoded":    `100%25 %41`,
	"not ASCII":        `Schlüssel€`,
}

// rawWorks are those that a URL takes as they are, as it does for libpq.
var rawWorks = map[string]bool{"a hash": true, "not ASCII": true}

// parts is where a database is, and the roles of a test with a password of its choice.
type parts struct {
	host, port, database     string
	readonly, writer, secret string
}

// rolesWith makes two roles that may do what readonly and writer may, with that password.
func rolesWith(t testing.TB, db *pgtemp.DB, password string) parts {
	t.Helper()
	u, err := url.Parse(db.Super)
	require.NoError(t, err)
	p := parts{host: u.Hostname(), port: u.Port(), database: db.Name, secret: password}
	p.readonly, _ = db.Role(t, "IN ROLE readonly")
	p.writer, _ = db.Role(t, "IN ROLE writer")
	for _, name := range []string{p.readonly, p.writer} {
		db.Exec(t, fmt.Sprintf("GRANT migrator TO %s; ALTER ROLE %[1]s PASSWORD '%s'", p.writer, strings.ReplaceAll(password, "'", "''")))
		db.Exec(t, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", name, strings.ReplaceAll(password, "'", "''")))
	}
	return p
}

func (p parts) url(user, password, query string) string {
	u := url.URL{Scheme: "postgresql", User: url.User(user), Host: net.JoinHostPort(p.host, p.port), Path: "/" + p.database, RawQuery: query}
	if password != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// keywords is a keyword string (manual, 34.1.1.1): backslash and quote are escaped by a backslash.
func (p parts) keywords(user, password string) string {
	s := fmt.Sprintf("host=%s port=%s dbname=%s user=%s", p.host, p.port, p.database, user)
	if password != "" {
		s += " password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'"
	}
	return s
}

// connects runs check-config, which connects both pools, and requires that all is well and that no secret came out.
func connects(t testing.TB, readonly, writer string, env map[string]string, secrets ...string) string {
	t.Helper()
	r := runToEnd(t, nil, options{readonly: readonly, writer: writer, env: env, args: []string{"check-config"}})
	noSecret(t, "check-config", r.stdout+r.stderr, secrets...)
	require.Zero(t, r.code, "%s\n%s", r.stdout, r.stderr)
	return r.stdout
}

// fails is connects for what must not connect. What is said is returned.
func fails(t testing.TB, readonly, writer string, env map[string]string, secrets ...string) string {
	t.Helper()
	r := runToEnd(t, nil, options{readonly: readonly, writer: writer, env: env, args: []string{"check-config"}})
	noSecret(t, "check-config", r.stdout+r.stderr, secrets...)
	require.Equal(t, 2, r.code, "%s\n%s", r.stdout, r.stderr)
	return r.stdout + r.stderr
}

// Field cases C33, C34, C46: whatever stands in the password, it connects by each way that there is to give
// one, and the one that cannot work says what would.
func TestConnectPasswords(t *testing.T) {
	t.Parallel()
	db := world(t)
	for name, password := range oddPasswords {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := rolesWith(t, db, password)
			dir := t.TempDir()
			escaped := strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(password) // manual, 34.16
			passfile := filepath.Join(dir, "pgpass")
			require.NoError(t, os.WriteFile(passfile, []byte(fmt.Sprintf("# ours\n%s:%s:%s:%s:%s\n*:*:*:%s:%s\n",
				p.host, p.port, p.database, p.readonly, escaped, p.writer, escaped)), 0o600))
			services := filepath.Join(dir, "services")
			require.NoError(t, os.WriteFile(services, []byte(fmt.Sprintf("[ours]\nhost=%s\nport=%s\ndbname=%s\n", p.host, p.port, p.database)), 0o600))

			for way, o := range map[string]options{
				"URL":         {readonly: p.url(p.readonly, password, ""), writer: p.url(p.writer, password, "")},
				"keywords":    {readonly: p.keywords(p.readonly, password), writer: p.keywords(p.writer, password)},
				"environment": {readonly: p.url(p.readonly, "", ""), writer: p.keywords(p.writer, ""), env: map[string]string{"PGPASSWORD": password}},
				"pgpass":      {readonly: p.url(p.readonly, "", ""), writer: p.keywords(p.writer, ""), env: map[string]string{"PGPASSFILE": passfile}},
				"passfile":    {readonly: p.url(p.readonly, "", "passfile="+url.QueryEscape(passfile)), writer: p.keywords(p.writer, "") + " passfile='" + passfile + "'"},
				"service": {
					readonly: "service=ours user=" + p.readonly, writer: "postgres:///?service=ours&user=" + p.writer,
					env: map[string]string{"PGSERVICEFILE": services, "PGPASSFILE": passfile},
				},
			} {
				t.Run(way, func(t *testing.T) {
					out := connects(t, o.readonly, o.writer, o.env, password, url.QueryEscape(password))
					require.Contains(t, out, p.readonly)
				})
			}
			if url.UserPassword("", password).String() == ":"+password {
				return // nothing in it that a URL would mind
			}
			t.Run("raw in a URL", func(t *testing.T) {
				raw := fmt.Sprintf("postgres://%s:%s@%s:%s/%s", p.readonly, password, p.host, p.port, p.database)
				r := runToEnd(t, nil, options{
					readonly: "-", writer: p.url(p.writer, password, ""), env: map[string]string{"DATABASE_URL_READONLY": raw}, args: []string{"check-config"},
				})
				noSecret(t, "check-config", r.stdout+r.stderr, password)
				if rawWorks[name] {
					require.Zero(t, r.code, "%s", r.stdout)
					return
				}
				require.Equal(t, 2, r.code)
				require.Contains(t, r.stdout, "must be percent-encoded in a URL")
			})
		})
	}
}

// Six mistakes, six sentences, and each names the setting in which to mend it.
func TestConnectMistakesAreTold(t *testing.T) {
	t.Parallel()
	db := world(t)
	const secret = "S3cr3t-and-long"
	p := rolesWith(t, db, secret)
	at := func(change func(*parts)) string {
		q := p
		change(&q)
		return q.url(q.writer, q.secret, "sslmode=disable")
	}
	seen := map[string]string{}
	for mistake, c := range map[string]struct{ url, says, hint string }{
		"host":     {at(func(q *parts) { q.host = "no-such-host.invalid" }), `the host name "no-such-host.invalid" of the database cannot be resolved`, "check the host"},
		"port":     {at(func(q *parts) { q.port = "1" }), "nothing listens at 127.0.0.1:1 (connection refused)", "correct host and port"},
		"database": {at(func(q *parts) { q.database = "no_such_db" }), `database "no_such_db" does not exist`, "correct the database name"},
		"user":     {at(func(q *parts) { q.writer = "no_such_role" }), `for user "no_such_role"`, "check user and password"},
		"password": {at(func(q *parts) { q.secret = "S3cr3t-wrong" }), "password authentication failed", "check user and password"},
		"TLS":      {p.url(p.writer, secret, "sslmode=require"), "does not offer TLS, but sslmode asks for it", "set sslmode"},
	} {
		got := fails(t, p.url(p.readonly, secret, ""), c.url, nil, "S3cr3t")
		require.Contains(t, got, c.says, mistake)
		require.Contains(t, got, c.hint, mistake)
		require.Contains(t, got, "database.writerConnectionString", mistake)
		seen[got] = mistake
	}
	require.Len(t, seen, 6, "two mistakes say the same")
}

// A socket in the file system, and IPv6: for both pools, with a read, a write and a cancelled call, which makes a
// connection of its own.
func TestConnectSocketsAndIPv6(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sw-sock-") //nolint:usetesting // root's t.TempDir is closed to the user that Postgres runs as
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777)) // Postgres makes its socket in it
	hosts := "127.0.0.1"
	six, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		hosts = "127.0.0.1,::1"
		require.NoError(t, six.Close())
	} else {
		t.Logf("NOT TESTED: this machine has no IPv6 (%v)", err)
	}
	db := world(t, pgtemp.WithSettings("unix_socket_directories="+dir, "listen_addresses="+hosts))
	p := rolesWith(t, db, "S3cr3t p@ss")
	ways := map[string]func(user string) string{
		"socket, keywords": func(user string) string { q := p; q.host = dir; return q.keywords(user, q.secret) },
		"socket, URL": func(user string) string {
			return fmt.Sprintf("postgres://%s:%s@/%s?host=%s&port=%s", user, url.PathEscape(p.secret), p.database, url.QueryEscape(dir), p.port)
		},
	}
	if hosts != "127.0.0.1" {
		ways["IPv6, URL"] = func(user string) string { q := p; q.host = "::1"; return q.url(user, q.secret, "") }
		ways["IPv6, keywords"] = func(user string) string { q := p; q.host = "::1"; return q.keywords(user, q.secret) }
	}
	for name, at := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			works(t, db, options{readonly: at(p.readonly), writer: at(p.writer)}, p.secret)
		})
	}
	// A mistake does not tell where on this machine things are.
	q := p
	q.host = filepath.Join(dir, "elsewhere")
	got := fails(t, q.keywords(p.readonly, p.secret), q.keywords(p.writer, p.secret), nil, "S3cr3t", dir)
	require.Contains(t, got, "there is no Postgres socket at the configured place")
}

// works starts the server and uses every kind of tool once: both pools, and the record's.
func works(t testing.TB, db *pgtemp.DB, o options, secrets ...string) {
	t.Helper()
	s := start(t, nil, o)
	s.secrets = append(s.secrets, secrets...)
	s.call("query", args{"statement": "SELECT count(*) FROM app.item", "reason": "t"}).ok(t, nil)
	s.call("describe_schema", args{"table": "app.item"}).ok(t, nil)
	p := s.preview("insert_rows", args{"table": "app.item", "columns": []any{"name"}, "rows": []any{[]any{"x"}}, "reason": "t"})
	s.execute(p)
	require.Equal(t, 1, executedRows(t, db, p.Token))
	slow := s.begin("query", args{"statement": "SELECT pg_sleep(60)", "reason": "t"})
	running := func() int {
		return number(t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE 'FETCH%'")
	}
	eventually(t, "it runs", func() bool { return running() > 0 })
	slow.cancel()
	eventually(t, "it was cancelled", func() bool { return running() == 0 })
	s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
	s.finish()
}

// search_path and other settings in the connection string are the session's.
func TestConnectSettingsInTheString(t *testing.T) {
	t.Parallel()
	db := world(t)
	p := rolesWith(t, db, "S3cr3t")
	for name, query := range map[string]string{
		"options":     "options=-c%20search_path=app%20-cwork_mem=7MB",
		"parameters":  "search_path=app&work_mem=7MB",
		"with spaces": "options=-c%20search_path=%22no%5C%20such%22,app%20-c%20work_mem=7MB",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, db, options{readonly: p.url(p.readonly, p.secret, query), writer: p.url(p.writer, p.secret, query)})
			var got struct {
				Rows []map[string]any `json:"rows"`
			}
			s.call("query", args{"statement": "SELECT count(*) AS n, current_setting('work_mem') AS mem FROM item", "reason": "t"}).ok(t, &got)
			require.Equal(t, "7MB", got.Rows[0]["mem"])
			s.execute(s.preview("update_rows", args{"table": "item", "set": args{"name": "x"}, "where": "id = 1", "reason": "t"}))
			require.Equal(t, "x", db.Query(t, "SELECT name FROM app.item WHERE id = 1")[0][0])
		})
	}
}

// A setting that the server does not take is told as that, and so is the + that is no space.
func TestConnectSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	db := world(t)
	p := rolesWith(t, db, "S3cr3t")
	for _, query := range []string{"options=-c+work_mem%3D7MB", "options=-c%20no_such_setting%3D1", "work_mem=seven", "options=-c%20role%3Dno_such_role"} {
		got := fails(t, "-", p.url(p.writer, p.secret, ""), map[string]string{"DATABASE_URL_READONLY": p.url(p.readonly, p.secret, query)}, "S3cr3t")
		require.Contains(t, got, "refused a setting that the connection string asks for", query)
		require.Contains(t, got, "database.readonlyConnectionString; in a URL a space is %20")
	}
	// What other programs understand is named, so that it can be taken out; what might be a piece of a password is not.
	for _, name := range []string{"hostaddr", "gssencmode", "keepalives_idle", "pgbouncer"} {
		got := fails(t, "-", p.url(p.writer, p.secret, ""), map[string]string{"DATABASE_URL_READONLY": p.url(p.readonly, p.secret, name+"=1")}, "S3cr3t")
		require.Contains(t, got, "take "+name+" out of database.readonlyConnectionString")
	}
	fails(t, "-", p.url(p.writer, p.secret, ""), map[string]string{"DATABASE_URL_READONLY": p.url(p.readonly, p.secret, "pieceofapassword=1")}, "pieceofapassword")
}

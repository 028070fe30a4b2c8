package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

func TestAcquireSkipsKilledConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var held []*postgres.Session
	for range 4 {
		held = append(held, acquire(t, b.Readonly()))
	}
	for _, s := range held {
		s.Release()
	}
	b.PG.Query(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	require.Eventually(t, func() bool {
		return b.PG.Query(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")[0][0] == "0"
	}, 5*time.Second, 10*time.Millisecond)
	mustQuery(t, b, "SELECT 1")
	_, err := b.Readonly().Describe(t.Context(), postgres.DescribeRequest{MayRead: everything, MayWrite: everything})
	require.NoError(t, err)
}

// A connection that answers when it is asked is used on, and one that is silent is given up with all that are idle.
func TestIdleConnectionsAreAsked(t *testing.T) {
	t.Parallel()
	b, r, _ := tapped(t)
	b.Readonly().AskAlways()
	pids := func() map[string]bool {
		out := map[string]bool{}
		var held []*postgres.Session
		for range 3 {
			s := acquire(t, b.Readonly())
			held = append(held, s)
			replies, err := s.Flush(t.Context(), seg("SELECT pg_backend_pid()"))
			require.NoError(t, err)
			out[string(replies[0].Results[0].Rows[0][0])] = true
		}
		for _, s := range held {
			s.Release()
		}
		return out
	}
	first := pids()
	require.Len(t, first, 3)
	require.Equal(t, first, pids())
	r.mute()
	began := time.Now()
	for pid := range pids() {
		require.NotContains(t, first, pid)
	}
	require.Less(t, time.Since(began), 5*time.Second, "each of the three was waited for")
}

// A connection cut without a goodbye is found dead as well, or retried where that is safe.
func TestReadsSurviveACutConnection(t *testing.T) {
	t.Parallel()
	b, r, _ := tapped(t)
	for range 5 {
		mustQuery(t, b, "SELECT 1")
		r.cut()
		time.Sleep(5 * time.Millisecond) // no event tells when the kernel has the end of file
		mustQuery(t, b, "SELECT 1")
	}
}

func TestIdleSessionTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, fmt.Sprintf(`ALTER ROLE readonly IN DATABASE %q SET idle_session_timeout = '1s'`, b.PG.Name)) // less, and a busy machine is not done signing in
	for range 3 {
		mustQuery(t, b, "SELECT 1")
		require.Eventually(t, func() bool {
			return b.PG.Query(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'readonly'")[0][0] == "0"
		}, 20*time.Second, 20*time.Millisecond, "the server has ended the idle session")
	}
}

func TestReleaseDestroysWhatIsNotIdle(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.MaxConnections = 1 })
	pid := func(s *postgres.Session) string {
		replies, err := s.Flush(t.Context(), seg("SELECT pg_backend_pid()"))
		require.NoError(t, err)
		require.Nil(t, replies[0].Err)
		return string(replies[0].Results[0].Rows[0][0])
	}
	s := acquire(t, b.Writer())
	first := pid(s)
	s.Release()
	s.Release()
	s = acquire(t, b.Writer())
	require.Equal(t, first, pid(s), "an idle connection is used again")

	for name, spoil := range map[string]func(*postgres.Session){
		"in a transaction": func(s *postgres.Session) { _, _ = s.Flush(t.Context(), seg("BEGIN")) },
		"in a failed one":  func(s *postgres.Session) { _, _ = s.Flush(t.Context(), seg("BEGIN", "SELECT 1/0")) },
		"discarded":        func(s *postgres.Session) { s.Discard() },
		"lexes otherwise":  func(s *postgres.Session) { _, _ = s.Flush(t.Context(), seg("SET standard_conforming_strings = off")) },
		"other encoding":   func(s *postgres.Session) { _, _ = s.Flush(t.Context(), seg("SET client_encoding = LATIN1")) },
	} {
		before := pid(s)
		spoil(s)
		s.Release()
		s = acquire(t, b.Writer())
		require.NotEqual(t, before, pid(s), name)
	}
	s.Release()
}

func TestTooBusy(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.MaxConnections, o.AcquireTimeout = 2, 300*time.Millisecond })
	acquire(t, b.Readonly())
	held := acquire(t, b.Readonly())
	_, err := b.Readonly().Acquire(t.Context())
	require.True(t, refusal.Is(err, refusal.TooBusy), "%v", err)
	require.ErrorContains(t, err, "2 connections")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Readonly().Acquire(ctx)
	require.ErrorIs(t, err, context.Canceled)

	held.Release()
	acquire(t, b.Readonly())
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	pg := pgtemp.New(t)
	const secret = "S3cr3t-p%40ss" // percent-encoded in the URL
	role, _ := pg.Role(t, "")
	withPassword := pg.URLFor(role, "S3cr3t-p@ss")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closedAddr := closed.Addr().String()
	require.NoError(t, closed.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	change := func(f func(*url.URL)) string {
		u, err := url.Parse(withPassword)
		require.NoError(t, err)
		f(u)
		return u.String()
	}
	for _, c := range []struct{ name, url, word string }{
		{"wrong password", withPassword, "password authentication failed"},
		{"unknown user", change(func(u *url.URL) { u.User = url.UserPassword("nobody_here", "S3cr3t-p@ss") }), "password authentication failed"},
		{"no such database", strings.Replace(pg.Readonly, "/"+pg.Name, "/no_such_db", 1), `"no_such_db" does not exist`},
		{"nothing listens", change(func(u *url.URL) { u.Host = closedAddr }), "connection refused"},
		{"no such host", change(func(u *url.URL) { u.Host = "no-such-host.invalid:5432" }), "cannot be resolved"},
		{"no answer", change(func(u *url.URL) { u.Host = silent.Addr().String() }), "did not answer"},
		{"no TLS", change(func(u *url.URL) { u.RawQuery = "sslmode=require" }), "does not offer TLS"},
		{"no socket", "postgres:///x?host=/nonexistent&user=a&password=" + secret, "no Postgres socket"},
	} {
		db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: c.url, WriterURL: pg.Writer, AcquireTimeout: time.Second})
		require.NoError(t, err, c.name)
		_, err = db.Readonly().Acquire(t.Context())
		require.True(t, refusal.Is(err, refusal.DatabaseUnavailable), "%s: %v", c.name, err)
		r, _ := refusal.As(err)
		require.Contains(t, r.Message, c.word, c.name)
		require.NotEmpty(t, r.Hint)
		require.NotContains(t, err.Error()+r.Hint, "S3cr3t", c.name)
		require.NotContains(t, err.Error()+r.Hint, "/nonexistent", c.name)
		db.Close()
	}
}

// A database that is down is dialled once for calls that come together, and works once it is up.
func TestDownThenUp(t *testing.T) {
	t.Parallel()
	pg := pgtemp.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var dials atomic.Int32
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			time.AfterFunc(200*time.Millisecond, func() { _ = c.Close() })
		}
	}()
	u, err := url.Parse(pg.Readonly)
	require.NoError(t, err)
	real := u.Host
	u.Host = l.Addr().String()
	db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: u.String(), WriterURL: pg.Writer})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := db.Readonly().Acquire(context.Background())
			if !refusal.Is(err, refusal.DatabaseUnavailable) {
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, dials.Load(), int32(2), "calls that run together share a dial")
	require.NoError(t, l.Close())
	<-gone

	l, err = net.Listen("tcp", u.Host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", real)
			if err != nil {
				return
			}
			w := &wiretap{}
			go w.fromClient(c, s)
			go w.fromServer(c, s)
		}
	}()
	s, err := db.Readonly().Acquire(t.Context())
	require.NoError(t, err)
	s.Release()
}

func TestConnectionStrings(t *testing.T) {
	t.Parallel()
	pg := pgtemp.New(t)
	const password = `+S-@u]JB^k(2%#/?`
	name, _ := pg.Role(t, "")
	pg.Exec(t, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", name, password))
	host, port, err := net.SplitHostPort(must(url.Parse(pg.Readonly)).Host)
	require.NoError(t, err)
	encoded := must(url.Parse(pg.Readonly))
	encoded.User = url.UserPassword(name, password)
	raw, _ := pg.Role(t, "")
	pg.Exec(t, fmt.Sprintf("ALTER ROLE %s PASSWORD 'p#ss^('", raw))
	for _, good := range []string{
		encoded.String(),
		fmt.Sprintf("postgres://%s:p#ss^(@%s:%s/%s?sslmode=disable", raw, host, port, pg.Name), // libpq takes these raw
		fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s sslmode=disable", host, port, name, password, pg.Name),
	} {
		db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: good, WriterURL: pg.Writer})
		require.NoError(t, err)
		s, err := db.Readonly().Acquire(t.Context())
		require.NoError(t, err)
		s.Release()
		require.NotContains(t, db.Redact("dial "+good+" failed"), "p#ss")
		require.NotContains(t, db.Redact("dial "+good+" failed"), password)
		db.Close()
	}
	for _, c := range []struct{ url, word string }{
		{"postgres://u:" + password + "@" + host + ":" + port + "/x", "percent-encoded"},
		{"postgres://u:S3cr3t/x@h:5432/x", "percent-encoded"},
		{"not a url S3cr3t", "neither a URL"},
		{"postgres://u:S3cr3t@h:5432/x?sslmode=maybe", "sslmode"},
		{"postgres://u:S3cr3t@h:port/x", "port"},
		{"postgres://u:S3cr3t@h/x?options=-csearch_path=app", "= is %3D"},
		{"postgres://u:S3cr3t@h/x?S3cr3t", "key=value"},
		{"postgres://u:S3cr3t@h/x?target_session_attrs=S3cr3t", "target_session_attrs"},
		{"host=h password='S3cr3t", "keywords"},
		{"postgres://u:S3cr3t@h/x?sslmode=verify-full&sslrootcert=/no/such/S3cr3t", "sslrootcert"},
		{"", "empty"},
	} {
		for _, o := range []postgres.Options{{ReadonlyURL: c.url, WriterURL: pg.Writer}, {ReadonlyURL: pg.Readonly, WriterURL: c.url}} {
			db, err := postgres.Open(t.Context(), o)
			if err == nil {
				db.Close()
			}
			require.Error(t, err, c.url)
			require.Contains(t, err.Error(), c.word, c.url)
			require.Contains(t, err.Error(), "ConnectionString")
			for e := err; e != nil; e = errors.Unwrap(e) {
				require.NotContains(t, e.Error(), "S3cr3t", c.url)
				require.NotContains(t, e.Error(), password, c.url)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"at postgres://u:p@h/d now":                        "at postgres://u:*****@h/d now",
		"postgresql://u:a@b/c#d@h:1/d?sslmode=x":           "postgresql://u:*****@h:1/d?sslmode=x",
		"host=h password=abc user=u":                       "host=h password=***** user=u",
		"password='a b\\'c' x":                             "password=***** x",
		"postgres://h/d?user=u&password=x&sslmode=disable": "postgres://h/d?user=u&password=*****&sslmode=disable",
		"nothing here":                                     "nothing here",
	} {
		require.Equal(t, want, postgres.Redact(in))
	}
}

// search_path of the connection string holds on every connection, and names resolve by it.
func TestSearchPath(t *testing.T) {
	t.Parallel()
	for _, param := range []string{"search_path=app", "options=-csearch_path%3Dapp"} {
		b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.ReadonlyURL += sep(o.ReadonlyURL) + param })
		b.PG.Exec(t, `CREATE SCHEMA app; CREATE TABLE app.t (id int); INSERT INTO app.t VALUES (7);
			GRANT USAGE ON SCHEMA app TO readonly; GRANT SELECT ON app.t TO readonly`)
		st := guarded(t, b.Readonly(), "SELECT * FROM t")
		require.Equal(t, "app", st.Relations()[0].Schema)
		require.Equal(t, "[[7]]", asJSON(t, mustQuery(t, b, "SELECT * FROM t")))
	}
}

func sep(url string) string {
	if strings.Contains(url, "?") {
		return "&"
	}
	return "?"
}

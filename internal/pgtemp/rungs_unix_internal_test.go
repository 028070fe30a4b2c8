//go:build unix

package pgtemp

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func script(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

func fakePostgres(t *testing.T, dir, version string) string {
	t.Helper()
	script(t, filepath.Join(dir, "initdb"), "exit 1")
	script(t, filepath.Join(dir, "postgres"), "echo 'postgres (PostgreSQL) "+version+"'")
	return dir
}

func TestNewestSupportedVersionIsTaken(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	pattern := []string{filepath.Join(root, "*", "bin")}

	_, err := newestIn(pattern)
	require.ErrorIs(t, err, errNoBinaries)

	fakePostgres(t, filepath.Join(root, "13", "bin"), "13.9")
	fakePostgres(t, filepath.Join(root, "19", "bin"), "19devel")
	script(t, filepath.Join(root, "17", "bin", "postgres"), "echo 'postgres (PostgreSQL) 17.1'") // no initdb
	_, err = newestIn(pattern)
	require.ErrorIs(t, err, errNoBinaries, "unsupported or incomplete ones do not count")

	fakePostgres(t, filepath.Join(root, "9", "bin"), "14.2 (Debian 14.2-1)")
	want := fakePostgres(t, filepath.Join(root, "10", "bin"), "16.3")
	got, err := newestIn(pattern)
	require.NoError(t, err)
	require.Equal(t, want, got, "by version, not by name of the directory")
}

func TestFindBinaries(t *testing.T) {
	t.Run("chosen", func(t *testing.T) {
		dir := fakePostgres(t, t.TempDir(), "15.1")
		t.Setenv(envBin, dir)
		got, err := findBinaries()
		require.NoError(t, err)
		require.Equal(t, dir, got)
	})
	t.Run("chosen but wrong is an error, not a reason to look elsewhere", func(t *testing.T) {
		t.Setenv(envBin, t.TempDir())
		_, err := findBinaries()
		require.ErrorContains(t, err, envBin)
		require.ErrorContains(t, err, "holds no executable initdb")
		_, err = Start(t.Context(), Options{})
		require.ErrorContains(t, err, envBin)
	})
	t.Run("chosen but too old", func(t *testing.T) {
		t.Setenv(envBin, fakePostgres(t, t.TempDir(), "12.4"))
		_, err := findBinaries()
		require.ErrorContains(t, err, "is Postgres 12; 14 to 18 are supported")
	})
	t.Run("a link in PATH leads to the real directory", func(t *testing.T) {
		real, path := fakePostgres(t, resolve(t.TempDir()), "16.1"), t.TempDir()
		require.NoError(t, os.Symlink(filepath.Join(real, "initdb"), filepath.Join(path, "initdb")))
		t.Setenv(envBin, "")
		t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
		got, err := findBinaries()
		require.NoError(t, err)
		require.Equal(t, real, got)
	})
}

// `make setup` and the tests agree about where a Postgres is.
func TestSetupScriptLooksInTheSamePlaces(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "scripts", "setup-postgres.sh"))
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(text), "\nPLACES='\n")
	require.True(t, ok)
	list, _, ok = strings.Cut(list, "\n'\n")
	require.True(t, ok)
	require.Equal(t, places, strings.Split(list, "\n"))
}

func TestPassable(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "sw-pgtemp-test-") //nolint:usetesting // t.TempDir may itself be closed to other users
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	open := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(open, 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, passable(open))
	require.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0o700))
	require.ErrorContains(t, passable(open), "is closed to other users")
	require.Error(t, passable(filepath.Join(dir, "missing")))
}

// Root's own t.TempDir is closed to the user that Postgres runs as.
func TestPrivateTempDirIsNoObstacle(t *testing.T) {
	private := filepath.Join(t.TempDir(), "private")
	require.NoError(t, os.Mkdir(private, 0o700))
	t.Setenv("TMPDIR", private)
	c, err := Start(t.Context(), Options{Logf: t.Logf})
	require.NoError(t, err)
	require.NoError(t, c.Stop())
}

// fakeDocker puts a `docker` into PATH that answers like the real one, with a server that runs
// already as its container, and logs its calls.
func fakeDocker(t *testing.T, text string) (calls func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	script(t, filepath.Join(dir, "docker"), `echo "$* password=$POSTGRES_PASSWORD" >>`+log+"\n"+text)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() string {
		b, err := os.ReadFile(log)
		require.NoError(t, err)
		return string(b)
	}
}

func TestDockerCommand(t *testing.T) {
	container, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, container.Stop()) })
	calls := fakeDocker(t, `case $1 in
version) echo 28.0.0 ;;
port) echo 127.0.0.1:`+strconv.Itoa(container.Port())+`; echo '[::1]:1' ;;
esac`)
	password := container.passwords["postgres"]
	d, err := dockerCommand(t.Context(), password, Options{})
	require.NoError(t, err)
	require.Equal(t, container.Port(), d.port)

	lines := strings.Split(calls(), "\n")
	require.Regexp(t, `^run --rm --detach --name sw-pgtemp-[0-9a-f]{12} -p 127\.0\.0\.1::5432 -e POSTGRES_PASSWORD postgres:16-alpine -c .* password=`+password+`$`, lines[1])
	require.NotContains(t, strings.Split(lines[1], " password=")[0], password, "arguments are visible to everybody")

	require.NoError(t, d.stop())
	name := strings.Fields(lines[1])[4]
	require.Contains(t, calls(), "rm --force --volumes "+name+" ")
}

func TestDockerThatFails(t *testing.T) {
	t.Setenv(envDocker, "1")
	t.Run("no command", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := Start(t.Context(), Options{})
		require.ErrorContains(t, err, "no Postgres to run")
		require.ErrorContains(t, err, "there is no docker command")
		require.ErrorContains(t, err, "to install it:")
	})
	t.Run("no daemon", func(t *testing.T) {
		calls := fakeDocker(t, "echo 'Cannot connect to the Docker daemon.' >&2; exit 1")
		_, err := Start(t.Context(), Options{})
		require.ErrorContains(t, err, "the docker daemon is not running (Cannot connect to the Docker daemon.)")
		require.NotContains(t, calls(), "run ")
	})
	t.Run("silent daemon", func(t *testing.T) {
		fakeDocker(t, "exec sleep 30")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		started := time.Now()
		_, err := Start(ctx, Options{})
		require.ErrorContains(t, err, "does not answer")
		require.Less(t, time.Since(started), 5*time.Second)
	})
	t.Run("no image", func(t *testing.T) {
		calls := fakeDocker(t, "case $1 in version) echo 28 ;; run) echo 'manifest unknown' >&2; exit 125 ;; esac")
		_, err := Start(t.Context(), Options{})
		require.ErrorContains(t, err, "docker run postgres:16-alpine: manifest unknown")
		require.Contains(t, calls(), "rm --force", "whatever was half started is removed")
	})
	t.Run("crash tests need native binaries", func(t *testing.T) {
		_, err := Start(t.Context(), Options{nativeOnly: true})
		require.ErrorContains(t, err, "processes can be killed")
	})
}

func TestDockerFallbackIsForTestsOnly(t *testing.T) {
	container, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, container.Stop()) })
	t.Setenv(envDocker, "1")
	stopped := false
	DockerFallback = func(_ context.Context, req DockerRequest) (string, func() error, error) {
		require.Equal(t, Image, req.Image)
		return container.urls("postgres").Super, func() error { stopped = true; return nil }, nil
	}
	t.Cleanup(func() { DockerFallback = nil })

	t.Setenv("PATH", t.TempDir())
	_, err = Start(t.Context(), Options{})
	require.ErrorContains(t, err, "no docker command", "the product never takes that way")

	c, err := Start(t.Context(), Options{inTest: true})
	require.NoError(t, err)
	urls, err := c.CreateDatabase(t.Context(), "")
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), urls.Writer)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.ErrorContains(t, c.Kill(), "in Docker")
	require.ErrorContains(t, c.Restart(t.Context()), "in Docker")
	require.NoError(t, c.Stop())
	require.True(t, stopped)
}

// Two processes share the cluster that SW_TEST_POSTGRES_URL names.
func TestExternalCluster(t *testing.T) {
	t.Parallel()
	host, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, host.Stop()) })
	url := host.urls("postgres").Super
	ctx := t.Context()

	a, err := newExternal(ctx, url)
	require.NoError(t, err)
	nameA, urlsA, err := a.create(ctx, "", "plain")
	require.NoError(t, err)

	admin, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer admin.Close(ctx)
	for _, name := range []string{"sw_test_0badc0de_11111111", "sw_test_mine", "other"} {
		require.NoError(t, run(ctx, admin, "create database "+name))
	}

	b, err := newExternal(ctx, url)
	require.NoError(t, err)
	_, urlsB, err := b.create(ctx, "", "demo")
	require.NoError(t, err)
	_, _, err = b.create(ctx, "", "plain")
	require.NoError(t, err)

	rows, err := admin.Query(ctx, "select datname from pg_database where not datistemplate order by 1")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, names, nameA, "a living process's database stays")
	require.Contains(t, names, "sw_test_mine")
	require.Contains(t, names, "other")
	require.NotContains(t, names, "sw_test_0badc0de_11111111", "a dead process's database goes")

	var templates int
	require.NoError(t, admin.QueryRow(ctx, "select count(*) from pg_database where datname like 'sw\\_template\\_%'").Scan(&templates))
	require.Equal(t, 2, templates, "one per kind, shared by both")

	// b has set the passwords again: a's still work, because they are the same.
	for _, u := range []string{urlsA.Readonly, urlsA.Writer, urlsB.Writer} {
		conn, err := pgx.Connect(ctx, u)
		require.NoError(t, err)
		require.NoError(t, conn.Close(ctx))
	}
	require.NoError(t, a.Stop())
	require.NoError(t, admin.Ping(ctx), "it is never stopped")
	b.closeAdmin()
}

func TestExternalClusterThatWillNotDo(t *testing.T) {
	t.Parallel()
	host, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, host.Stop()) })
	urls, err := host.CreateDatabase(t.Context(), "")
	require.NoError(t, err)

	_, err = newExternal(t.Context(), urls.Writer)
	require.ErrorContains(t, err, "user writer is not a superuser")
	_, err = newExternal(t.Context(), "postgres://user:S3cr3t@host:notaport/x")
	require.ErrorContains(t, err, envURL)
	require.NotContains(t, err.Error(), "S3cr3t")
	_, err = newExternal(t.Context(), host.URL("postgres", "postgres", "wr0ng-S3cr3t"))
	require.ErrorContains(t, err, "password authentication failed")
	require.NotContains(t, err.Error(), "S3cr3t")
}

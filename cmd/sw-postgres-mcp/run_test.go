package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// in runs a command inside the test process.
func in(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, streams{
		in: strings.NewReader(""), out: &out, err: &errs,
		env: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	})
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"nope"}, {"--nope"}, {"version", "extra"}, {"serve", "extra"}, {"check-config", "--x"}, {"--config"}} {
		code, stdout, stderr := in(t, nil, args...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, "sw-postgres-mcp:")
		require.Contains(t, stderr, "--help")
	}
	for _, args := range [][]string{{"--help"}, {"help", "serve"}, {"version"}} {
		code, stdout, stderr := in(t, nil, args...)
		require.Equal(t, exitOK, code, args)
		require.NotEmpty(t, stdout)
		require.Empty(t, stderr)
	}
	_, stdout, _ := in(t, nil, "version")
	require.Contains(t, stdout, version)
}

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	code, stdout, stderr := once(t, env, "check-config")
	require.Equal(t, exitOK, code, stdout+stderr)
	require.NotContains(t, stdout, "FAIL")
	for _, want := range []string{"ok    readonly", "ok    writer", "ok    audit", "configuration file: ", "writable: ", db.Name} {
		require.Contains(t, stdout, want)
	}
	require.NotContains(t, stdout+stderr, "postgres://")

	code, stdout, _ = once(t, nowhere, "check-config")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stdout, "FAIL  readonly")
	require.Contains(t, stdout, "FAIL  writer")
	noSecret(t, stdout)

	code, stdout, _ = once(t, nil, "check-config")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stdout, "DATABASE_URL_READONLY")

	code, stdout, _ = once(t, []string{env[0], strings.Replace(env[0], "READONLY", "WRITER", 1)}, "check-config")
	require.Equal(t, exitUsage, code, stdout)

	db.Exec(t, "DROP SCHEMA mcp_audit CASCADE")
	code, stdout, _ = once(t, env, "check-config")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stdout, "02_audit.sql")
}

func TestSeedDemo(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	for range 2 { // as often as you like
		code, stdout, stderr := once(t, []string{"DATABASE_URL=" + db.Writer}, "seed-demo", "--seed", "7")
		require.Equal(t, exitOK, code, stderr)
		require.Contains(t, stdout, "50000 customers, 2000 products, 60000 orders")
	}
	require.Equal(t, "50000", db.Query(t, "select count(*) from public.customers")[0][0])

	code, stdout, stderr := once(t, []string{"DATABASE_URL_WRITER=" + nowhere[1]}, "seed-demo", "--connection", "postgres://writer:S3cr3t@127.0.0.1:1/x")
	require.Equal(t, exitRuntime, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "--connection")
	noSecret(t, stderr)

	code, _, stderr = once(t, nil, "seed-demo", "--connection", "postgres://writer:S3cr3t@b]ad:x/y")
	require.Equal(t, exitRuntime, code)
	require.Contains(t, stderr, "percent-encoded")
	noSecret(t, stderr)

	other := pgtemp.New(t)
	other.Exec(t, "CREATE TABLE public.customers (id bigint); GRANT ALL ON public.customers TO writer")
	code, _, stderr = once(t, []string{"DATABASE_URL_WRITER=" + other.Writer}, "seed-demo")
	require.Equal(t, exitUsage, code, stderr)
	require.Contains(t, stderr, "--yes")
}

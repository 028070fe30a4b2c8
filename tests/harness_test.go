// Package tests holds what crosses packages: the built binary, driven over stdio as a client does,
// on a real Postgres. Each property of the safety case has a test of its name here (TestS01…), run
// over every tool that it applies to by the matrix in matrix_test.go.
//
// Whatever a test is about, its server is also held to the properties that must hold always, when
// it is stopped: stdout carried nothing but JSON-RPC (S19), every tool result had the contract's
// shape, no password and no page secret came out anywhere (S20), no race was reported, the process
// ended in time (S17) and left no backend behind (S18). See server.finish.
package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// patience bounds every wait for something that should take milliseconds. The machine may be busy.
const patience = 20 * time.Second

// stopWithin is the contract's: on EOF and on SIGTERM the process ends within 2 s.
const stopWithin = 2 * time.Second

// slack is what a machine that runs other tests at the same time may add to it. TestS17 has the
// machine to itself and gives none.
const slack = 3 * time.Second

var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// buildFlags are the program's; what takes figures builds it without the race detector.
var buildFlags = []string{"-race"}

// program builds the program once and returns its path.
func program(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		// Not the test's own directory: the program outlives the test that builds it.
		if built.dir, built.err = os.MkdirTemp("", "sw-postgres-mcp-tests-"); built.err != nil { //nolint:usetesting // see above
			return
		}
		built.path = filepath.Join(built.dir, "sw-postgres-mcp")
		cmd := exec.Command("go", slices.Concat([]string{"build"}, buildFlags, []string{"-o", built.path, "./cmd/sw-postgres-mcp"})...)
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("building the program: %w\n%s", err, out)
		}
	})
	require.NoError(t, built.err)
	return built.path
}

// drivers are clients that this program can be, by name; see clients_go_test.go.
var drivers = map[string]func(args []string) int{}

// runtimeDir is where the servers of these tests find each other.
var runtimeDir string

func TestMain(m *testing.M) {
	if drive := drivers[os.Getenv("SW_TEST_DRIVER")]; drive != nil {
		os.Exit(drive(os.Args[1:])) // this is not the test but a client that it runs
	}
	// Servers of one user find each other: those of the tests must not meet the person's own.
	var err error
	if runtimeDir, err = os.MkdirTemp("", "sw-rt-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(runtimeDir)
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, "removing the built program:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// options say how a server is started. The zero value is the harness's own configuration on the
// test's database.
type options struct {
	config    map[string]any // merged over baseConfig, section by section; a nil section takes it away
	rawConfig *string        // in place of all of it
	noConfig  bool           // no file at all
	env       map[string]string
	readonly  string // connection strings; the database's own where empty, none where "-"
	writer    string
	args      []string
	through   []string // a client that runs the program and stands between; it shakes hands itself
	silent    bool     // no handshake
	client    map[string]any
}

// baseConfig is what most tests run with: everything of schema app may be written, the page takes a
// free port and opens no browser.
func baseConfig() map[string]any {
	return map[string]any{
		"allowlist":      map[string]any{"write": map[string]any{"schemas": []string{"app"}}},
		"database":       map[string]any{"migrationRole": "migrator"},
		"approvalServer": map[string]any{"port": 0, "openBrowser": "never"},
		"migration":      map[string]any{"previewsPerMinute": 10_000},
		"callerId":       "tests",
	}
}

func (o options) configText(t testing.TB) string {
	t.Helper()
	if o.rawConfig != nil {
		return *o.rawConfig
	}
	cfg := baseConfig()
	for name, value := range o.config {
		section, isSection := value.(map[string]any)
		base, hasBase := cfg[name].(map[string]any)
		if !isSection || !hasBase {
			cfg[name] = value
			continue
		}
		maps.Copy(base, section)
	}
	text, err := json.MarshalIndent(cfg, "", "  ")
	require.NoError(t, err)
	return string(text)
}

var serverNumber atomic.Int64

// environment is the parent's without anything that would bend the program's own settings.
func environment(extra map[string]string) []string {
	var out []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if (strings.HasPrefix(name, "SW_") && !strings.HasPrefix(name, "SW_TEST_")) || strings.HasPrefix(name, "PG") ||
			strings.HasPrefix(name, "DATABASE_URL") || strings.HasPrefix(name, "POSTGRES_") || name == "DISPLAY" || name == "WAYLAND_DISPLAY" {
			continue
		}
		out = append(out, e)
	}
	out = append(out, "GORACE=halt_on_error=1 exitcode=66", "XDG_RUNTIME_DIR="+runtimeDir)
	for name, value := range extra {
		out = append(out, name+"="+value)
	}
	return out
}

// named marks a connection string, so that the backends of one server can be told from others.
func named(t testing.TB, raw, name string) string {
	t.Helper()
	if raw == "" || raw == "-" || !strings.Contains(raw, "://") {
		return raw
	}
	u, err := url.Parse(raw)
	require.NoError(t, err)
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // as libpq reads it, in which + is a plus
	return u.String()
}

// command prepares a run of the program on db as o says. The configuration file is in a directory
// of its own, which is also the working directory.
func command(t testing.TB, db *pgtemp.DB, o options) (cmd *exec.Cmd, application string) {
	t.Helper()
	application = fmt.Sprintf("sw-test-%d", serverNumber.Add(1))
	env := map[string]string{}
	if db != nil {
		if o.readonly == "" {
			o.readonly = db.Readonly
		}
		if o.writer == "" {
			o.writer = db.Writer
		}
	}
	if o.readonly != "-" && o.readonly != "" {
		env["DATABASE_URL_READONLY"] = named(t, o.readonly, application)
	}
	if o.writer != "-" && o.writer != "" {
		env["DATABASE_URL_WRITER"] = named(t, o.writer, application)
	}
	dir := t.TempDir()
	args := o.args
	if !o.noConfig {
		path := filepath.Join(dir, "config.json")
		require.NoError(t, os.WriteFile(path, []byte(o.configText(t)), 0o600))
		env["SW_POSTGRES_CONFIG"] = path
	}
	maps.Copy(env, o.env)
	args = append(append(slices.Clone(o.through), program(t)), args...)
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = environment(env)
	return cmd, application
}

// ran is what a finished run of the program left.
type ran struct {
	code           int
	stdout, stderr string
}

// runToEnd runs the program with an empty stdin, for commands and for starts that must fail.
func runToEnd(t testing.TB, db *pgtemp.DB, o options) ran {
	t.Helper()
	cmd, _ := command(t, db, o)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		t.Fatalf("the program did not end and was killed (%v): %v\n%s", <-done, o.args, stderr.String())
	}
	r := ran{stdout: stdout.String(), stderr: stderr.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	require.NotContains(t, r.stderr, "DATA RACE")
	return r
}

// eventually polls cond until it holds. It fails the test when it never does.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	within(t, patience, what, cond)
}

// within polls cond for at most d.
func within(t testing.TB, d time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(d)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", d, what)
		}
		time.Sleep(5 * time.Millisecond) // there is nothing to be woken by
	}
}

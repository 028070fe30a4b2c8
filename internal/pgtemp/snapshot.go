package pgtemp

import (
	"bytes"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed snapshot.sql
var snapshotSQL string

// Snapshot is every definition and grant of the database, one line an object: two that are equal mean that
// nothing of the schema has changed in between, files included. Rows are not in it, nor where sequences
// stand, nor schemas whose names match the regular expression without, if it is not empty. That it sees what pg_dump sees is tried where both are, see TestMigrationSuite.
func (db *DB) Snapshot(t TB, without string) string {
	t.Helper()
	var b strings.Builder
	for _, row := range db.Query(t, snapshotSQL, without) {
		b.WriteString(strings.Join(row, " ") + "\n")
	}
	return b.String()
}

// Dump is what pg_dump says of the database, data and positions of sequences included: a second opinion, by
// other people's code. ok is false where there is no pg_dump that knows the server's version (the packages
// from npm have none). more are arguments of pg_dump.
func (db *DB) Dump(t TB, more ...string) (text string, ok bool) {
	t.Helper()
	server, err := strconv.Atoi(db.Query(t, "SELECT current_setting('server_version_num')")[0][0])
	if err != nil {
		t.Fatalf("pgtemp: reading the server's version: %v", err)
	}
	tool := findDump(server / 10000)
	if tool == "" {
		return "", false
	}
	var stderr bytes.Buffer
	cmd := exec.Command(tool, append([]string{"--dbname", db.Super}, more...)...) //nolint:gosec // G204: a fixed tool, on a database of the tests
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pgtemp: pg_dump: %v\n%s", err, stderr.String())
	}
	var kept strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) { // a random key
			kept.WriteString(line)
		}
	}
	return kept.String(), true
}

// findDump returns a pg_dump of at least that version, "" without one.
func findDump(major int) string {
	var candidates []string
	if path, err := exec.LookPath("pg_dump"); err == nil {
		candidates = append(candidates, path)
	}
	for _, place := range places {
		if found, err := filepath.Glob(filepath.Join(place, "pg_dump")); err == nil {
			candidates = append(candidates, found...)
		}
	}
	for _, path := range candidates {
		out, err := exec.Command(path, "--version").Output() //nolint:gosec // G204: a fixed tool in the usual places
		if err != nil {
			continue
		}
		if m := versionLine.FindSubmatch(out); m != nil {
			if v, err := strconv.Atoi(string(m[1])); err == nil && v >= major {
				return path
			}
		}
	}
	return ""
}

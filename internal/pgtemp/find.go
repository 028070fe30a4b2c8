package pgtemp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
)

// The versions the product supports.
const (
	oldestMajor = 14
	newestMajor = 18
)

var errNoBinaries = errors.New("no Postgres server binaries (initdb, postgres) of version 14 to 18 were found")

// places are where packages put the binaries when they are not in PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                   // Fedora, RHEL (PGDG)
	"/usr/libexec/postgresql*",                           // Alpine
	"/opt/homebrew/opt/postgresql*/bin",                  // Homebrew, Apple silicon
	"/usr/local/opt/postgresql*/bin",                     // Homebrew, Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",     // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
	"/opt/local/lib/postgresql*/bin",                     // MacPorts
	"/usr/local/pgsql/bin",                               // built from source
}

// findBinaries returns the directory of initdb and postgres: what SW_TEST_POSTGRES_BIN names, else
// the one in PATH, else the newest version in the usual places. The error wraps errNoBinaries if
// there is none.
func findBinaries() (string, error) {
	if dir := os.Getenv(envBin); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("%s: %w", envBin, err)
		}
		if _, err := majorOf(dir); err != nil {
			return "", fmt.Errorf("%s: %w", envBin, err)
		}
		return dir, nil
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		// What is in PATH may be a link to initdb alone; the server is where it points.
		for _, path := range []string{resolve(initdb), initdb} {
			if _, err := majorOf(filepath.Dir(path)); err == nil {
				return filepath.Dir(path), nil
			}
		}
	}
	return newestIn(places)
}

func resolve(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

func newestIn(patterns []string) (string, error) {
	type found struct {
		dir   string
		major int
	}
	var all []found
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("looking for Postgres in %s: %w", pattern, err)
		}
		for _, dir := range dirs {
			if major, err := majorOf(dir); err == nil {
				all = append(all, found{dir, major})
			}
		}
	}
	if len(all) == 0 {
		return "", errNoBinaries
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].major > all[j].major })
	return all[0].dir, nil
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// majorOf returns the version of the Postgres in dir. The error wraps errNoBinaries only by its
// meaning for the search: a directory that does not hold a usable server.
func majorOf(dir string) (int, error) {
	for _, tool := range []string{"initdb", "postgres"} {
		if st, err := os.Stat(filepath.Join(dir, tool)); err != nil || st.IsDir() || st.Mode()&0o111 == 0 { //nolint:gosec // G703: the directory is chosen by whoever runs the tests
			return 0, fmt.Errorf("%s holds no executable %s", dir, tool)
		}
	}
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output() //nolint:gosec // G204: a fixed tool in a directory that the person who runs the tests chose
	if err != nil {
		return 0, fmt.Errorf("running %s --version: %w", filepath.Join(dir, "postgres"), err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s says %q, which is no Postgres version", filepath.Join(dir, "postgres"), out)
	}
	major, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return 0, fmt.Errorf("reading the version of %s: %w", dir, err)
	}
	if major < oldestMajor || major > newestMajor {
		return 0, fmt.Errorf("%s is Postgres %d; %d to %d are supported", dir, major, oldestMajor, newestMajor)
	}
	return major, nil
}

// installHint says what to do on this kind of machine.
func installHint() error {
	switch runtime.GOOS {
	case "darwin":
		return errors.New("to install it: brew install postgresql@16   (or `make setup`, or start Docker)")
	case "linux":
		if _, err := exec.LookPath("dnf"); err == nil {
			return errors.New("to install it: sudo dnf install postgresql-server   (or `make setup`, or start Docker)")
		}
		if _, err := exec.LookPath("apk"); err == nil {
			return errors.New("to install it: apk add postgresql16   (or start Docker)")
		}
		return errors.New("to install it: sudo apt-get install postgresql   (or `make setup`, or start Docker)")
	}
	return errors.New("to have one: start Docker")
}

func noPostgres(native, docker error) error {
	return fmt.Errorf("no Postgres to run: %w", errors.Join(native, docker, installHint()))
}

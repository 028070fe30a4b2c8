package sqlguard

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// corpusFile is one statement of testdata/accept or testdata/refuse. Its head says what to expect (a code,
// or ACCEPT) and what this file alone covers, and may say how many params it is sent with, which server
// it is meant for, that a read allowlist is in force, and what the refusal must say.
type corpusFile struct {
	name, expect, covers, says, sql string
	server                          int // 0: the usual one
	tight                           bool
	params                          []json.RawMessage
}

func corpus(t testing.TB, dir string) []corpusFile {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var out []corpusFile
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		require.NoError(t, err)
		c := corpusFile{name: strings.TrimSuffix(filepath.Base(p), ".sql"), sql: string(raw)}
		require.True(t, strings.HasPrefix(c.sql, "-- expect: "), "%s: the first line says what to expect", p)
		for c.head(t) {
		}
		require.NotEmpty(t, c.covers, "%s does not say what it covers", p)
		require.Equal(t, dir == "accept", c.expect == "ACCEPT", p)
		out = append(out, c)
	}
	return out
}

// head takes one line of the head off the text.
func (c *corpusFile) head(t testing.TB) bool {
	t.Helper()
	line, rest, _ := strings.Cut(c.sql, "\n")
	key, value, ok := strings.Cut(strings.TrimPrefix(line, "-- "), ": ")
	if !ok || !strings.HasPrefix(line, "-- ") {
		return false
	}
	number := func() int {
		n, err := strconv.Atoi(value)
		require.NoError(t, err, c.name)
		return n
	}
	switch key {
	case "expect":
		c.expect = value
	case "covers":
		c.covers = value
	case "says":
		c.says = value
	case "server":
		c.server = number()
	case "guard":
		require.Equal(t, "tight", value, c.name)
		c.tight = true
	case "params":
		for range number() {
			c.params = append(c.params, json.RawMessage(`"1"`))
		}
	default:
		return false
	}
	c.sql = rest
	return true
}

func (c corpusFile) read(text string) (*Statement, error) {
	cat, g := newFake(), openGuard()
	if c.server > 0 {
		cat.version = c.server
	}
	if c.tight {
		g = tightGuard()
	}
	return g.Read(context.Background(), cat, text, c.params)
}

func TestReadCorpus(t *testing.T) {
	t.Parallel()
	for _, c := range corpus(t, "accept") {
		t.Run("accept/"+c.name, func(t *testing.T) {
			s, err := c.read(c.sql)
			require.NoError(t, err, c.sql)
			require.Equal(t, Read, s.Class())
			require.NotContains(t, s.SQL(), "\n")
			again, err := c.read(s.SQL())
			require.NoError(t, err)
			require.Equal(t, s.SQL(), again.SQL(), "what goes out must be read back as itself")
		})
	}
	for _, c := range corpus(t, "refuse") {
		t.Run("refuse/"+c.name, func(t *testing.T) {
			s, err := c.read(c.sql)
			require.Error(t, err, "%s became %v", c.sql, s)
			requireCode(t, refusal.Code(c.expect), err)
			r, _ := refusal.As(err)
			require.Contains(t, r.Message+" "+r.Hint, c.says)
		})
	}
}

// Everything the read corpus refuses must also be refused as a sub-select of a condition.
func TestReadRefusalsHoldInsideWhere(t *testing.T) {
	t.Parallel()
	for _, c := range corpus(t, "refuse") {
		if len(c.params) > 0 || strings.TrimSpace(strings.Trim(c.sql, ";/*- \n")) == "" {
			continue
		}
		cat, g := newFake(), openGuard()
		if c.server > 0 {
			cat.version = c.server
		}
		if c.tight {
			g = tightGuard()
		}
		// A volatile function of the database's own is reported, not refused, in writes.
		s, err := g.Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: "EXISTS (" + c.sql + ")"})
		if err == nil {
			require.NotEmpty(t, s.Volatile(), c.name)
			require.True(t, s.UnstableWhere(), c.name)
		}
	}
}

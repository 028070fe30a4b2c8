package plan

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The file is made smaller while the server runs, too. Where that fails, what was written stays, and the
// next try comes after as many lines, not with every one.
func TestJournalIsCompactedWhileItRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.Mkdir(dir, 0o700))
	j, err := OpenJournal(filepath.Join(dir, "plans.jsonl"))
	require.NoError(t, err)
	defer j.Close()
	line := func(token string) record { return record{Token: Token(token), State: Expired, At: time.Now()} }
	for range 200 {
		require.NoError(t, j.append(true, line("same")))
	}
	grown := j.size

	require.NoError(t, os.Rename(dir, dir+"b")) // no file can be made beside it any more
	j.lines = compactAfter
	require.NoError(t, j.append(true, line("kept")))
	require.Greater(t, j.size, grown)
	require.Zero(t, j.lines)
	require.Empty(t, j.found)

	require.NoError(t, os.Rename(dir+"b", dir))
	j.lines = compactAfter
	require.NoError(t, j.append(true, line("last")))
	require.Less(t, j.size, grown/10)
	require.Zero(t, j.lines)
	for i := range 3 {
		require.NoError(t, j.append(true, line("after"+strconv.Itoa(i))))
	}
	j.Close()
	j, err = OpenJournal(j.path)
	require.NoError(t, err)
	var tokens []Token
	for _, r := range j.found {
		tokens = append(tokens, r.Token)
	}
	require.Equal(t, []Token{"same", "kept", "last", "after0", "after1", "after2"}, tokens)
}

// Of the plans that ended the file keeps as many as a store remembers, the newest, and every other plan.
func TestJournalForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var j Journal
	for i := range keepTombstones + 10 {
		j.found = append(j.found, record{Token: Token("ended" + strconv.Itoa(i)), State: Executed}, record{Token: "older line"})
		if i%1000 == 0 {
			j.found = append(j.found, record{Token: Token("open" + strconv.Itoa(i)), State: Previewed})
		}
	}
	j.forget()
	ended, open := 0, 0
	for _, r := range j.found {
		if r.State.ended() {
			ended++
		} else {
			require.Equal(t, Previewed, r.State)
			open++
		}
	}
	require.Equal(t, keepTombstones, ended)
	require.Equal(t, keepTombstones/1000+1, open)
	require.Equal(t, Token("open0"), j.found[0].Token)
	require.Equal(t, Token("ended10"), j.found[1].Token)
}

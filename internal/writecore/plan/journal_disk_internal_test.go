package plan

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// disk is a journal and its store, with everything that reaches the disk counted and able to fail.
type disk struct {
	*Store
	j           *Journal
	path        string
	now         atomic.Int64 // seconds that the clock is ahead
	syncs, dirs int
	before      func() // runs in each fsync, before it
	full        bool   // no space left
	told        []error
}

func onDisk(t *testing.T, path string) *disk {
	t.Helper()
	d := &disk{path: path, before: func() {}}
	var err error
	d.j, err = openJournal(&Journal{
		path: path,
		writeAt: func(f *os.File, b []byte, at int64) (int, error) {
			if d.full {
				n, _ := f.WriteAt(b[:len(b)/2], at)
				return n, syscall.ENOSPC
			}
			return f.WriteAt(b, at)
		},
		sync: func(f *os.File) error {
			d.syncs++
			d.before()
			return f.Sync()
		},
		syncDir: func(dir string) error {
			d.dirs++
			require.Equal(t, filepath.Dir(path), dir)
			return syncDir(dir)
		},
	})
	require.NoError(t, err)
	d.Store = NewStore(Options{
		PlanTTL: time.Minute, ApprovalTTL: time.Minute, MaxOpen: 50, Journal: d.j,
		Now:            func() time.Time { return time.Now().Add(time.Duration(d.now.Load()) * time.Second) },
		OnJournalError: func(err error) { d.told = append(d.told, err) },
	})
	t.Cleanup(d.die)
	return d
}

// die ends the process, so that the next one can take the file.
func (d *disk) die() {
	d.Store.Close()
	d.j.Close()
}

// crash ends it without the last words of a Close.
func (d *disk) crash() {
	d.mu.Lock()
	d.unwritten = nil
	d.mu.Unlock()
	d.die()
}

func deletes(n int) Preview {
	return Preview{
		Tool: "delete_rows", Payload: Payload{Statement: fmt.Sprintf("DELETE FROM app.t WHERE (id = %d)", n)},
		AffectedRows: 1, RowsDigest: "1:2:3", BlastRadius: BlastRadius{TotalRows: 1, Tables: []Table{{OID: 7, Name: "app.t", Deleted: 1}}},
	}
}

func (d *disk) create(t *testing.T, n int, needs bool) (Plan, Echo) {
	t.Helper()
	p, _, err := d.Create(deletes(n), needs)
	require.NoError(t, err)
	return p, Echo{Payload: &p.Payload}
}

// TestJournalIsOnDiskFirst: nobody sees a change before the file that holds it was synced, once; what the clock
// or the ledger tells as well waits for no disk. The names in the directory are synced at every compaction.
func TestJournalIsOnDiskFirst(t *testing.T) {
	t.Parallel()
	d := onDisk(t, filepath.Join(t.TempDir(), "plans.jsonl"))
	require.Equal(t, 1, d.syncs, "the new file")
	require.Equal(t, 1, d.dirs, "its name")
	events, cancel := d.Subscribe()
	defer cancel()
	// step runs one change and looks at it from inside its fsync.
	step := func(what string, visible int, syncs int, holds string, change func()) {
		t.Helper()
		d.syncs = 0
		was, err := os.ReadFile(d.path)
		require.NoError(t, err)
		d.before = func() {
			require.Empty(t, events, "%s: seen before it was on disk", what)
			now, err := os.ReadFile(d.path)
			require.NoError(t, err)
			require.Contains(t, string(now[len(was):]), holds, what)
		}
		change()
		d.before = func() {}
		require.Equal(t, syncs, d.syncs, what)
		now, err := os.ReadFile(d.path)
		require.NoError(t, err)
		require.Contains(t, string(now[len(was):]), holds, what) // written at once in any case
		require.Len(t, events, visible, what)
		for range visible {
			<-events
		}
	}
	var p, q, r Plan
	var x *Execution
	var err error
	step("create", 1, 1, `"state":"awaiting_approval"`, func() { p, _ = d.create(t, 1, true) })
	step("join", 1, 0, `"state":"awaiting_approval"`, func() { d.create(t, 1, true) })
	step("approve", 1, 1, `"state":"approved"`, func() { _, _, err = d.Approve(p.Token, "maria"); require.NoError(t, err) })
	echo := Echo{Payload: &p.Payload}
	begin := func() { x, err = d.Begin(p.Token, echo); require.NoError(t, err) }
	step("begin", 1, 1, `"state":"executing"`, begin)
	step("fail", 1, 0, `"state":"approved"`, func() { x.Fail() })
	step("begin again", 1, 1, `"state":"executing"`, begin)
	step("committing", 0, 1, `"identity":"7/1"`, func() { require.NoError(t, x.Committing(Mark{Identity: "7/1"})) })
	step("confirm", 1, 1, `"state":"executed"`, func() { x.Confirm(1, time.Now()) })
	step("create another", 1, 1, `"state":"previewed"`, func() { q, _ = d.create(t, 2, false) })
	step("replace", 2, 1, `"superseded_by"`, func() {
		other := deletes(2)
		other.RowsDigest = "others"
		r, _, err = d.Create(other, false)
		require.NoError(t, err)
	})
	require.NotEqual(t, q.Token, r.Token)
	step("reject", 1, 1, `"state":"rejected"`, func() { _, _, err = d.Reject(r.Token, "maria", "no"); require.NoError(t, err) })
	d.create(t, 3, false)
	<-events
	step("expire", 1, 0, `"state":"expired"`, func() { d.now.Store(3600); d.List() })

	d.j.lines = compactAfter
	d.create(t, 4, false)
	require.Equal(t, 2, d.dirs, "compacted: its name again")
}

// TestJournalSyncThatFails: what could not be synced is seen by nobody, and nothing is written any more.
func TestJournalSyncThatFails(t *testing.T) {
	t.Parallel()
	d := onDisk(t, filepath.Join(t.TempDir(), "plans.jsonl"))
	p, _ := d.create(t, 1, true)
	d.j.sync = func(*os.File) error { return errors.New("i/o error") }
	_, _, err := d.Approve(p.Token, "maria")
	require.ErrorIs(t, err, ErrJournal)
	d.j.sync = (*os.File).Sync // a later success says nothing
	_, _, err = d.Approve(p.Token, "maria")
	require.ErrorIs(t, err, ErrJournal)
	got, _ := d.Get(p.Token)
	require.Equal(t, AwaitingApproval, got.State)
}

// TestJournalOwes: what became a fact while the disk was full is written down when it is not any more: with the
// next change, by itself a second later, and at the end. A rejection says what is at stake.
func TestJournalOwes(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(t *testing.T, d *disk){
		"with the next change":     func(t *testing.T, d *disk) { d.create(t, 9, false); d.crash() },
		"when somebody asks later": func(_ *testing.T, d *disk) { d.List(); d.now.Store(2); d.List(); d.crash() },
		"at the end":               func(_ *testing.T, d *disk) { d.die() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := onDisk(t, filepath.Join(t.TempDir(), "plans.jsonl"))
			p, pe := d.create(t, 1, false)
			q, qe := d.create(t, 2, false)
			x, err := d.Begin(q.Token, qe)
			require.NoError(t, err)
			d.full = true
			_, _, err = d.Reject(p.Token, "maria", "no")
			require.NoError(t, err)
			x.Stop(string(refusal.RowsetChanged), "changed")
			require.Len(t, d.told, 2)
			require.ErrorContains(t, d.told[0], "a rejection stands, but would be forgotten by a restart")
			_, _, err = d.Create(deletes(3), false)
			require.ErrorIs(t, err, ErrJournal)
			d.full = false
			then(t, d)
			d = onDisk(t, d.path)
			_, err = d.Begin(p.Token, pe)
			require.True(t, refusal.Is(err, refusal.PlanRejected), "%v", err)
			_, err = d.Begin(q.Token, qe)
			require.True(t, refusal.Is(err, refusal.RowsetChanged), "%v", err)
		})
	}
	t.Run("not while it is full", func(t *testing.T) {
		t.Parallel()
		d := onDisk(t, filepath.Join(t.TempDir(), "plans.jsonl"))
		p, _ := d.create(t, 1, false)
		d.full = true
		_, _, err := d.Reject(p.Token, "maria", "no")
		require.NoError(t, err)
		d.now.Store(2)
		d.List()
		require.Len(t, d.told, 1, "told once, not with every try")
		d.die()
		d = onDisk(t, d.path) // what was written of it is no line
		got, _ := d.Get(p.Token)
		require.Equal(t, Previewed, got.State)
	})
}

// TestJournalTellsWhenItGrows: a file that cannot be made smaller is told of once, stays in use, and again once
// it could be in between.
func TestJournalTellsWhenItGrows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.Mkdir(dir, 0o700))
	d := onDisk(t, filepath.Join(dir, "plans.jsonl"))
	n := 0
	try := func(told int) {
		t.Helper()
		n++
		d.j.lines = compactAfter
		d.create(t, n, false)
		require.Len(t, d.told, told)
	}
	require.NoError(t, os.Rename(dir, dir+"b")) // no file can be made beside it any more
	try(1)
	require.ErrorContains(t, d.told[0], "cannot be made smaller")
	try(1)
	require.NoError(t, os.Rename(dir+"b", dir))
	try(1)
	require.NoError(t, os.Rename(dir, dir+"b"))
	try(2)
	require.NoError(t, os.Rename(dir+"b", dir))
	d.die()
	d = onDisk(t, d.path)
	require.Len(t, d.live, 4)
}

// TestJournalTornTails: whatever a death left of what was not on disk yet (pages in any order, zeros, garbage) is
// cut off, and the plans stand as before it. What was on disk is never taken for that.
func TestJournalTornTails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plans.jsonl")
	d := onDisk(t, path)
	p, echo := d.create(t, 1, false)
	x, err := d.Begin(p.Token, echo)
	require.NoError(t, err)
	synced := int(d.j.size)
	x.Fail() // not synced
	unsynced := int(d.j.size)
	long := deletes(2)
	long.BlastRadius.Unknown = []string{strings.Repeat("x", 3*4096)} // several pages
	_, _, err = d.Create(long, false)
	require.NoError(t, err)
	d.crash()
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	open := func(t *testing.T, content []byte) (*Journal, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "plans.jsonl")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		j, err := OpenJournal(path)
		if err != nil {
			after, readErr := os.ReadFile(path)
			require.NoError(t, readErr)
			require.Equal(t, content, after, "a file that was refused was changed")
		} else {
			t.Cleanup(j.Close)
		}
		return j, err
	}
	zero := func(b []byte, from, to int) []byte {
		b = bytes.Clone(b)
		clear(b[from:to])
		return b
	}
	random := bytes.Repeat([]byte("\x13\n{}\n\"\xff"), 3000)
	for name, c := range map[string]struct {
		content []byte
		plans   int
		state   State
	}{
		"whole":                                 {whole, 2, Previewed},
		"the last line's first page":            {zero(whole, unsynced, unsynced+4096), 1, Previewed},
		"a page in its middle":                  {zero(whole, unsynced+5000, unsynced+9000), 1, Previewed},
		"its last page":                         {zero(whole, len(whole)-500, len(whole)), 1, Previewed},
		"all of it":                             {zero(whole, unsynced, len(whole)), 1, Previewed},
		"zeros behind it":                       {append(bytes.Clone(whole), make([]byte, 8192)...), 2, Previewed},
		"garbage behind it":                     {append(bytes.Clone(whole), random...), 2, Previewed},
		"half of it, then garbage":              {append(bytes.Clone(whole[:unsynced+700]), random...), 1, Previewed},
		"a line that was not synced, before it": {zero(whole, synced, unsynced-5), 1, Executing},
		"both":                                  {zero(whole, synced+10, len(whole)-10), 1, Executing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, err := open(t, c.content)
			require.NoError(t, err)
			require.Len(t, j.found, c.plans)
			require.Equal(t, c.state, j.found[0].State)
			j.Close()
			_, err = open(t, c.content)
			require.NoError(t, err)
		})
	}
	// Any byte of what was on disk, and any line of it.
	for at := 0; at < synced; at += 5 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x20
		_, err := open(t, damaged)
		require.Error(t, err, "byte %d", at)
	}
	lines := bytes.SplitAfter(whole[:synced], []byte("\n"))
	for gone := range lines[:len(lines)-1] {
		var without []byte
		for i, l := range lines {
			if i != gone {
				without = append(without, l...)
			}
		}
		_, err := open(t, append(without, whole[synced:]...))
		require.Error(t, err, "line %d", gone+1)
	}
}

// TestJournalOfVersionOne: a file without sums is read as it was, and written anew with them.
func TestJournalOfVersionOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plans.jsonl")
	const first = `{"format":"sw-postgres-mcp plan journal","version":1}
{"token":"abc","state":"previewed","at":"2026-01-01T00:00:00Z","fingerprint":"f","expires_at":"2126-01-01T00:00:00Z","blast_radius":{"total_rows":0,"tables":null}}
{"token":"def","state":"rejected","at":"2026-01-01T00:00:00Z","decided_at":"2026-01-01T00:00:00Z"}
`
	require.NoError(t, os.WriteFile(path, []byte(first+`{"token":"ghi","st`), 0o600))
	for range 2 {
		d := onDisk(t, path)
		got, ok := d.Get("abc")
		require.True(t, ok)
		require.Equal(t, Previewed, got.State)
		got, _ = d.Get("def")
		require.Equal(t, Rejected, got.State)
		d.die()
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(now, []byte(`{"format":"sw-postgres-mcp plan journal","version":2}`)))
	}
}

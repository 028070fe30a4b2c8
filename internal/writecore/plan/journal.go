package plan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ErrJournal is in every error of a store whose journal cannot be written: it is a fault, and nothing
// that would have to be on disk first happens any more.
var ErrJournal = errors.New("the plan journal cannot be written")

const (
	journalFormat = "sw-postgres-mcp plan journal"
	// journalVersion changes with the meaning of a line. A file of another version is refused, not guessed at.
	journalVersion = 1
	// maxJournalLine bounds one line, and with it what a file can make the reader hold.
	maxJournalLine = 4 << 20
	// compactAfter is how many lines may follow the last compaction before the next one.
	compactAfter = 20_000
)

// Journal is the file in which the plans of one process outlive it: JSON lines, the newest line of a
// token tells its state. It guarantees that a line is on disk (fsync) before append returns, that the
// file and its lock belong to one process at a time, and that neither statement nor params nor any
// person's or agent's words are in it.
//
// A torn last line, from a death while writing, is cut off; damage anywhere else is an error, since
// what was approved or executed must not be guessed at.
type Journal struct {
	path   string
	file   *os.File
	lock   *os.File
	size   int64 // of the whole lines
	lines  int   // since the last compaction
	found  []record
	broken error
}

// journalHeader is the first line.
type journalHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// Mark is what a later look-up of a COMMIT whose answer was lost needs to know. It is noted before
// COMMIT is sent: an execution without a mark has sent none.
type Mark struct {
	// Identity names the server and timeline that was written to.
	Identity string `json:"identity,omitempty"`
	// XID and Boot are set only for a change that commits without its audit row: its transaction, and
	// when that server was started.
	XID  string `json:"xid,omitempty"`
	Boot string `json:"boot,omitempty"`
}

// record is one line: a plan as far as it may be written down.
type record struct {
	Token        Token        `json:"token"`
	State        State        `json:"state"`
	At           time.Time    `json:"at"`
	Fingerprint  Fingerprint  `json:"fingerprint,omitempty"`
	Tool         string       `json:"tool,omitempty"`
	Target       string       `json:"target,omitempty"`
	DDL          bool         `json:"ddl,omitempty"`
	Digest       string       `json:"digest,omitempty"`
	Definitions  []Definition `json:"definitions,omitempty"`
	AffectedRows int64        `json:"affected_rows,omitempty"`
	BlastRadius  *BlastRadius `json:"blast_radius,omitempty"`
	Before       State        `json:"before,omitempty"` // of an execution: the state to go back to
	CreatedAt    time.Time    `json:"created_at,omitzero"`
	ExpiresAt    time.Time    `json:"expires_at,omitzero"`
	Mark         *Mark        `json:"mark,omitempty"`
	ExecutedAt   time.Time    `json:"executed_at,omitzero"`
	ExecutedRows int64        `json:"executed_rows,omitempty"`
	StopCode     string       `json:"stop_code,omitempty"`
	SupersededBy Token        `json:"superseded_by,omitempty"`
	DecidedAt    time.Time    `json:"decided_at,omitzero"`
}

// OpenJournal opens or makes the journal at path, takes its lock (path + ".lock") and reads it. The
// directory must exist. Errors say what is the matter in a sentence for the person who configured it:
// another process has it, others may read it (it must be 0600), it is no journal, it is damaged.
func OpenJournal(path string) (*Journal, error) {
	j := &Journal{path: path}
	if err := j.open(); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

func (j *Journal) open() (err error) {
	if j.lock, err = openPrivate(j.path + ".lock"); err != nil {
		return err
	}
	if err := lockFile(j.lock); err != nil {
		return fmt.Errorf("another process uses the journal %s (two servers need two journals): %w", j.path, err)
	}
	if j.file, err = openPrivate(j.path); err != nil {
		return err
	}
	if err := j.read(); err != nil {
		return err
	}
	return j.compact()
}

// openPrivate opens a regular file that its owner alone may read, made if it is not there.
func openPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600) //nolint:gosec // the path that was configured
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("the journal %s is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0 && permissionsTell:
		err = fmt.Errorf("the journal %s may be read or written by others (mode %04o): make it 0600", path, info.Mode().Perm())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// read takes in every whole line, the newest of each token, and cuts a torn last one off.
func (j *Journal) read() error {
	j.size, j.lines, j.found = 0, 0, nil
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, math.MaxInt64), 64<<10)
	newest := make(map[Token]int)
	for number := 1; ; number++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			if len(line) > 0 { // the last line lacks its end: the process died while it wrote
				return j.cut()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the journal %s, line %d: %w", j.path, number, err)
		}
		if number == 1 {
			var h journalHeader
			if err := strict(line, &h); err != nil || h.Format != journalFormat {
				return fmt.Errorf("%s is not a plan journal of this program", j.path)
			}
			if h.Version != journalVersion {
				return fmt.Errorf("the journal %s has version %d; this program knows version %d", j.path, h.Version, journalVersion)
			}
			j.size += int64(len(line))
			continue
		}
		var rec record
		if err := strict(line, &rec); err != nil {
			return fmt.Errorf("the journal %s is damaged at line %d: %w", j.path, number, err)
		}
		if err := rec.valid(); err != nil {
			return fmt.Errorf("the journal %s is damaged at line %d: %w", j.path, number, err)
		}
		if at, ok := newest[rec.Token]; ok {
			j.found[at].State = "" // an older line
		}
		newest[rec.Token] = len(j.found)
		j.found = append(j.found, rec)
		j.size += int64(len(line))
		j.lines++
	}
}

// readLine reads up to and with the end of the line; without one it is io.EOF and what there was.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxJournalLine {
			return nil, errors.New("the line is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func strict(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value on the line")
	}
	return nil
}

func (r *record) valid() error {
	if r.Token == "" {
		return errors.New("no token")
	}
	switch r.State {
	case Previewed, AwaitingApproval, Approved:
	case Executing, Unknown:
		if r.Before != Previewed && r.Before != Approved && r.Before != AwaitingApproval {
			return fmt.Errorf("no such state to go back to: %q", r.Before)
		}
	default:
		if r.State.ended() {
			return nil
		}
		return fmt.Errorf("no such state: %q", r.State)
	}
	if r.Fingerprint == "" || r.ExpiresAt.IsZero() || r.BlastRadius == nil {
		return errors.New("a plan that has not ended lacks its fingerprint, expiry or blast radius")
	}
	return nil
}

// append puts lines on disk; nil means that they are there.
func (j *Journal) append(records ...record) error {
	var out []byte
	for i := range records {
		line, err := json.Marshal(&records[i])
		if err != nil {
			return err
		}
		if len(line) >= maxJournalLine { // the reader would refuse it
			return fmt.Errorf("%w: a line of %d bytes", ErrJournal, len(line))
		}
		out = append(append(out, line...), '\n')
	}
	if err := j.write(out); err != nil {
		return err
	}
	if j.lines += len(records); j.lines <= compactAfter {
		return nil
	}
	// What was just written stays written, whether or not the file can be made smaller now; if not, the
	// next try is as many lines away.
	if err := j.read(); err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrJournal, err)
		return nil
	}
	_ = j.compact()
	j.found, j.lines = nil, 0
	return nil
}

func (j *Journal) write(data []byte) error {
	if j.broken != nil {
		return j.broken
	}
	if _, err := j.file.WriteAt(data, j.size); err != nil {
		err = fmt.Errorf("%w: %w", ErrJournal, err)
		// What was written of it would stand before the next line.
		if cutErr := j.cut(); cutErr != nil {
			j.broken = errors.Join(err, cutErr)
		}
		return err
	}
	if err := j.file.Sync(); err != nil {
		// Nobody knows what is on disk after a failed fsync, and a later one may lie about it.
		j.broken = fmt.Errorf("%w: %w", ErrJournal, err)
		return j.broken
	}
	j.size += int64(len(data))
	return nil
}

// cut takes off everything behind the last whole line.
func (j *Journal) cut() error {
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("cutting the journal's torn end off: %w", err)
	}
	return j.file.Sync()
}

// compact replaces the file by one that holds what was found and no older line. Until the rename the
// old file is whole; after it the new one is. On an error the old file stays in use.
func (j *Journal) compact() (err error) {
	if j.broken != nil {
		return j.broken
	}
	fresh, err := os.CreateTemp(filepath.Dir(j.path), filepath.Base(j.path)+".new-*") // 0600
	if err != nil {
		return fmt.Errorf("compacting the journal: %w", err)
	}
	defer func() {
		if err != nil {
			_ = fresh.Close()
			_ = os.Remove(fresh.Name())
		}
	}()
	w := bufio.NewWriter(fresh)
	e := json.NewEncoder(w)
	if err := e.Encode(journalHeader{journalFormat, journalVersion}); err != nil {
		return fmt.Errorf("compacting the journal: %w", err)
	}
	j.forget()
	for i := range j.found {
		if err := e.Encode(&j.found[i]); err != nil {
			return fmt.Errorf("compacting the journal: %w", err)
		}
	}
	if err := errors.Join(w.Flush(), fresh.Sync()); err != nil {
		return fmt.Errorf("compacting the journal: %w", err)
	}
	size, err := fresh.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("compacting the journal: %w", err)
	}
	if err := os.Rename(fresh.Name(), j.path); err != nil {
		return fmt.Errorf("compacting the journal: %w", err)
	}
	_ = j.file.Close()
	j.file, j.size, j.lines = fresh, size, 0
	if err := syncDir(filepath.Dir(j.path)); err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrJournal, err)
		return j.broken
	}
	return nil
}

// forget drops older lines of a token, and of the plans that ended all but as many as a store remembers.
func (j *Journal) forget() {
	ended := 0
	kept := j.found[:0]
	for i := range j.found {
		if j.found[i].State != "" {
			kept = append(kept, j.found[i])
			if j.found[i].State.ended() {
				ended++
			}
		}
	}
	if ended > keepTombstones {
		kept = slices.DeleteFunc(kept, func(r record) bool {
			if !r.State.ended() || ended <= keepTombstones {
				return false
			}
			ended--
			return true
		})
	}
	j.found = kept
}

// Close gives the file and its lock back. Nothing is lost by not calling it.
func (j *Journal) Close() {
	if j.file != nil {
		_ = j.file.Close()
	}
	if j.lock != nil {
		unlockFile(j.lock)
		_ = j.lock.Close()
	}
}

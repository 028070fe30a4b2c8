package plan

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ErrJournal is in every error of a store whose journal cannot be written: it is a fault, and nothing
// that would have to be on disk first happens any more.
var ErrJournal = errors.New("the plan journal cannot be written")

const (
	journalFormat = "sw-postgres-mcp plan journal"
	// journalVersion changes with the meaning of a line: from 2 on lines have sums. Files of earlier versions are
	// read and written anew; one of a later version is refused, not guessed at.
	journalVersion = 2
	// maxJournalLine bounds one line, and with it what a file can make the reader hold.
	maxJournalLine = 4 << 20
	// compactAfter is how many lines may follow the last compaction before the next one.
	compactAfter = 20_000
)

// Journal is the file in which the plans of one process outlive it: JSON lines, the newest line of a
// token tells its state. It guarantees that a durable line is on disk (fsync) before append returns, that the
// file and its lock belong to one process at a time, and that neither statement nor params nor any
// person's or agent's words are in it.
//
// What a death while writing left (half a line, a line with holes, zeros, lines behind a hole) is cut off:
// every line has a sum, and says up to where the file was on disk when it was written. Damage where that was
// so is an error, since what was approved or executed must not be guessed at. See TestJournalTornTails.
type Journal struct {
	path   string
	file   *os.File
	lock   *os.File
	size   int64 // of the whole lines
	synced int64 // up to here it is on disk
	lines  int   // since the last compaction
	found  []record
	broken error

	warning error // what is wrong though everything is written; warned: it was told
	warned  bool

	// What reaches the disk: writing, and fsync of a file and of a directory. Tests look on.
	writeAt func(*os.File, []byte, int64) (int, error)
	sync    func(*os.File) error
	syncDir func(string) error
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

// OpenJournal opens or makes the journal at path, takes its lock (path + ".lock") and reads it. The
// directory must exist. Errors say what is the matter in a sentence for the person who configured it:
// another process has it, others may read it (it must be 0600), it is no journal, it is damaged.
func OpenJournal(path string) (*Journal, error) {
	return openJournal(&Journal{path: path, writeAt: (*os.File).WriteAt, sync: (*os.File).Sync, syncDir: syncDir})
}

func openJournal(j *Journal) (*Journal, error) {
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

// append writes records, as one line that is read whole or not at all; nil means that they are written, and
// with durable that they are on disk. What is not durable goes to disk with the next line that is: it is
// what a later look-up (the clock, the ledger) tells as well.
func (j *Journal) append(durable bool, records ...record) error {
	out, err := encodeLine(records, j.synced)
	if err != nil {
		return err
	}
	if err := j.write(out, durable); err != nil {
		return err
	}
	if j.lines++; j.lines > compactAfter {
		// What was just written stays written, whether or not the file can be made smaller now; if not, the
		// next try is as many lines away.
		if err := j.shrink(); err != nil && j.warning == nil {
			j.warning = fmt.Errorf("the plan journal %s cannot be made smaller and goes on growing: %w", j.path, err)
		}
		j.found, j.lines = nil, 0
	}
	return nil
}

// shrink reads the file again and compacts it.
func (j *Journal) shrink() error {
	if err := j.read(); err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrJournal, err)
		return j.broken
	}
	if err := j.compact(); err != nil {
		return err
	}
	j.warning, j.warned = nil, false
	return nil
}

// trouble is what the operator must hear of and has not heard yet: once until it is over.
func (j *Journal) trouble() error {
	if j.warning == nil || j.warned {
		return nil
	}
	j.warned = true
	return j.warning
}

func (j *Journal) write(data []byte, durable bool) error {
	if j.broken != nil {
		return j.broken
	}
	if _, err := j.writeAt(j.file, data, j.size); err != nil {
		err = fmt.Errorf("%w: %w", ErrJournal, err)
		// What was written of it would stand before the next line.
		if cutErr := j.cut(); cutErr != nil {
			j.broken = errors.Join(err, cutErr)
		}
		return err
	}
	end := j.size + int64(len(data))
	if durable {
		if err := j.sync(j.file); err != nil {
			// Nobody knows what is on disk after a failed fsync, and a later one may lie about it.
			j.broken = fmt.Errorf("%w: %w", ErrJournal, err)
			return j.broken
		}
		j.synced = end
	}
	j.size = end
	return nil
}

// cut takes off everything behind the last whole line.
func (j *Journal) cut() error {
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("cutting the journal's torn end off: %w", err)
	}
	if err := j.sync(j.file); err != nil {
		return fmt.Errorf("cutting the journal's torn end off: %w", err)
	}
	j.synced = j.size
	return nil
}

// compact replaces the file by one that holds what was found and no older line. Until the rename the
// old file is whole; after it the new one is. On an error the old file stays in use.
func (j *Journal) compact() error {
	if j.broken != nil {
		return j.broken
	}
	j.forget()
	fresh, size, err := j.fresh()
	if err != nil {
		return fmt.Errorf("compacting the journal: %w", err)
	}
	_ = j.file.Close()
	j.file, j.size, j.synced, j.lines = fresh, size, size, 0
	if err := j.syncDir(filepath.Dir(j.path)); err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrJournal, err)
		return j.broken
	}
	return nil
}

// fresh makes the file of what was found, whole and on disk, and gives it the journal's name.
func (j *Journal) fresh() (f *os.File, size int64, err error) {
	f, err = os.CreateTemp(filepath.Dir(j.path), filepath.Base(j.path)+".new-*") // 0600
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	put := func(line []byte, err error) error {
		size += int64(len(line))
		_, writeErr := w.Write(line)
		return errors.Join(err, writeErr)
	}
	if err := put(headerLine()); err != nil {
		return nil, 0, err
	}
	for i := range j.found {
		if err := put(encodeLine(j.found[i:i+1], size)); err != nil {
			return nil, 0, err
		}
	}
	// A last line without a plan: with it, damage to any of those above stands in the middle.
	if err := put(encodeLine(nil, size)); err != nil {
		return nil, 0, err
	}
	if err := errors.Join(w.Flush(), j.sync(f)); err != nil {
		return nil, 0, err
	}
	return f, size, os.Rename(f.Name(), j.path)
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

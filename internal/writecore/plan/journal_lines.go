package plan

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"
)

// journalHeader is the first line.
type journalHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

func headerLine() ([]byte, error) {
	line, err := json.Marshal(journalHeader{journalFormat, journalVersion})
	return append(line, '\n'), err
}

// record is one plan as far as it may be written down.
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

// journalLine is every later line: what became true together. Behind it stands its sum, the last field.
type journalLine struct {
	Plans []record `json:"plans"`
	// Synced is up to where the file was on disk when the line was written.
	Synced int64 `json:"synced"`
}

// sumLen is the length of `,"sum":"01234567"}` and the line's end.
const sumLen = 19

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(body []byte) []byte {
	return fmt.Appendf(nil, ",\"sum\":\"%08x\"}\n", crc32.Checksum(body, castagnoli))
}

// encodeLine is one line with its end. The sum is over all of it that stands before the sum.
func encodeLine(records []record, synced int64) ([]byte, error) {
	if records == nil {
		records = []record{}
	}
	line, err := json.Marshal(journalLine{records, synced})
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1]
	line = append(line, sumOf(line)...)
	if len(line) > maxJournalLine { // the reader would refuse it
		return nil, fmt.Errorf("%w: a line of %d bytes", ErrJournal, len(line))
	}
	return line, nil
}

// errTorn says that a line is not what was once written.
var errTorn = errors.New("the line does not have its sum")

// decodeLine is encodeLine backwards. A line without its sum is errTorn; what has it and cannot be understood
// was written so.
func decodeLine(line []byte) (journalLine, error) {
	var l journalLine
	body := line[:max(0, len(line)-sumLen)]
	if string(line[len(body):]) != string(sumOf(body)) {
		return l, errTorn
	}
	if err := strict(append(bytes.Clone(body), '}'), &l); err != nil {
		return l, err
	}
	for i := range l.Plans {
		if err := l.Plans[i].valid(); err != nil {
			return l, err
		}
	}
	return l, nil
}

// decodeFirst is decodeLine for version 1: a record, with no sum.
func decodeFirst(line []byte) (journalLine, error) {
	var rec record
	if err := strict(line, &rec); err != nil {
		return journalLine{}, err
	}
	return journalLine{Plans: []record{rec}}, rec.valid()
}

// read takes in every whole line, the newest of each token, and cuts a torn end off.
//
// A line that has not its sum is torn, and everything behind it with it, unless a line behind it knows that it
// was on disk once: then it is damaged.
func (j *Journal) read() error {
	j.size, j.lines, j.found = 0, 0, nil
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, math.MaxInt64), 64<<10)
	newest := make(map[Token]int)
	decode := decodeLine
	torn := 0 // the number of the first such line
	for number := 1; ; number++ {
		line, err := readLine(r)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return fmt.Errorf("reading the journal %s, line %d: %w", j.path, number, err)
		}
		switch {
		case ended && len(line) == 0 && torn == 0:
			return nil
		case ended: // the last line lacks its end: the process died while it wrote
			return j.cut()
		case number == 1:
			version, err := j.header(line)
			if err != nil {
				return err
			}
			if version == 1 {
				decode = decodeFirst
			}
			j.size += int64(len(line))
			continue
		}
		l, err := decode(line)
		switch {
		case errors.Is(err, errTorn):
			if torn == 0 {
				torn = number
			}
		case err != nil:
			return fmt.Errorf("the journal %s is damaged at line %d: %w", j.path, number, err)
		case l.Synced > j.size: // with torn == 0 a line is missing before this one
			return fmt.Errorf("the journal %s is damaged at line %d: what was on disk once is not there", j.path, cmp.Or(torn, number))
		case torn == 0:
			for _, rec := range l.Plans {
				if at, ok := newest[rec.Token]; ok {
					j.found[at].State = "" // an older line
				}
				newest[rec.Token] = len(j.found)
				j.found = append(j.found, rec)
			}
			j.size += int64(len(line))
			j.lines++
		}
	}
}

// header judges the first line.
func (j *Journal) header(line []byte) (version int, err error) {
	var h journalHeader
	if err := strict(line, &h); err != nil || h.Format != journalFormat {
		return 0, fmt.Errorf("%s is not a plan journal of this program", j.path)
	}
	if h.Version < 1 || h.Version > journalVersion {
		return 0, fmt.Errorf("the journal %s has version %d; this program knows versions up to %d", j.path, h.Version, journalVersion)
	}
	if ours, err := headerLine(); err == nil && h.Version == journalVersion && !bytes.Equal(line, ours) {
		return 0, fmt.Errorf("the journal %s is damaged at line 1: its header is another one", j.path)
	}
	return h.Version, nil
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

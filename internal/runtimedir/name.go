package runtimedir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameFile holds the name under which this user decides, for all servers of this machine: what a
// browser keeps it keeps per port.
const nameFile = "name"

// MaxName is the longest name, in characters.
const MaxName = 200

// Name is the name that was remembered, "" when there is none. A file that is no name (a link, a
// pipe, too long, not text) is as good as none.
func (d Dir) Name() string {
	path := filepath.Join(d.path, nameFile)
	before, err := os.Lstat(path)
	if err != nil || !before.Mode().IsRegular() { // opening a pipe would wait for its writer
		return ""
	}
	f, err := os.Open(path) //nolint:gosec // below the checked directory
	if err != nil {
		return ""
	}
	defer f.Close()
	if at, err := f.Stat(); err != nil || !os.SameFile(before, at) {
		return ""
	}
	raw, err := io.ReadAll(io.LimitReader(f, 4*MaxName+2))
	if err != nil {
		return ""
	}
	name := strings.TrimSpace(string(raw))
	if checkName(name) != nil {
		return ""
	}
	return name
}

// SetName remembers a name; "" forgets it. The file is exchanged as a whole, so a link in its place
// is replaced and not followed.
func (d Dir) SetName(name string) error {
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return fmt.Errorf("remembering the name: %w", err)
	}
	path := filepath.Join(d.path, nameFile)
	if name == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("forgetting the name: %w", err)
		}
		return nil
	}
	f, err := os.CreateTemp(d.path, ".name-*") // mode 0600
	if err != nil {
		return fmt.Errorf("remembering the name: %w", err)
	}
	_, err = f.WriteString(name + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error says more
		return fmt.Errorf("remembering the name: %w", err)
	}
	return nil
}

var errName = errors.New("it is not one line of at most 200 characters")

func checkName(name string) error {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxName || strings.ContainsFunc(name, unicode.IsControl) {
		return errName
	}
	return nil
}

// Package runtimedir is where the servers of one user on one machine find each other: a directory
// that only this user can enter, with one socket per server.
//
// What it guarantees:
//   - The directory is a real one (no symlink), belongs to this user and has no bit for others; its
//     parent is not one in which others could exchange it. Else it is not used, and the error says why.
//   - Nothing secret is in it. A socket's name holds the process id and the port of its server; all
//     else is asked of the server when it is wanted, so nothing here can be out of date.
//   - A server that died leaves a socket that refuses connections; whoever lists next removes it. The
//     process id alone decides nothing: it may have been given to another process meanwhile.
//   - What is found here is not believed: names, sizes and answers are bounded and checked, whatever
//     does not fit is left alone, and nothing can make a listing hang.
//
// What it must never do: hand out a secret, a one-time code or a statement, approve or reject, or
// know what a plan is. A socket answers two questions: how are you, and would you open your page in
// the browser of this desktop. See TestTheSocketKnowsTwoQuestions.
package runtimedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// dirName is the directory's name below a directory of this user; elsewhere the user's id follows.
const dirName = "sw-postgres-mcp"

// maxPath is the longest directory in bytes. An address of a socket holds 104 bytes on macOS and
// 108 on Linux (unix(7)), and the name of the socket follows.
const maxPath = 78

// Dir is a checked directory.
type Dir struct{ path string }

// Path is where it is.
func (d Dir) Path() string { return d.path }

// Find makes the directory where it is missing, and checks it. Clients start their servers with few
// variables, terminals have them all, and both must find the same place: so without XDG_RUNTIME_DIR
// the place that it usually names is tried, and the last resort does not depend on TMPDIR.
func Find(env func(string) (string, bool)) (Dir, error) {
	return find(env, standard())
}

// candidate is a directory that may hold ours; name is ours in it.
type candidate struct{ parent, name string }

func find(env func(string) (string, bool), places []candidate) (Dir, error) {
	if v, ok := env("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(v) {
		places = append([]candidate{{filepath.Clean(v), dirName}}, places...)
	}
	var errs []error
	for _, c := range places {
		path := filepath.Join(c.parent, c.name)
		if len(path) > maxPath {
			errs = append(errs, fmt.Errorf("%s: its path is longer than %d bytes, so no socket fits in", path, maxPath))
			continue
		}
		err := use(c.parent, path)
		if err == nil {
			return Dir{path}, nil
		}
		errs = append(errs, err)
		// A place that is not there, or that this user may not write, is passed over. One that
		// somebody tampered with is not: the other servers would be looked for elsewhere.
		if !errors.Is(err, errNoPlace) {
			break
		}
	}
	return Dir{}, fmt.Errorf("finding the directory in which servers find each other: %w", errors.Join(errs...))
}

var errNoPlace = errors.New("it cannot be used")

// use makes and checks one directory.
func use(parent, path string) error {
	up, err := os.Stat(parent)
	if err != nil || !up.IsDir() {
		return fmt.Errorf("%s: %w: there is no directory %s", path, errNoPlace, parent)
	}
	if err := safeParent(up); err != nil {
		return fmt.Errorf("%s: %w: %s %w", path, errNoPlace, parent, err)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w: %w", path, errNoPlace, err)
	}
	return check(path)
}

// check refuses a directory that others could have made or could write.
func check(path string) error {
	at, err := os.Lstat(path)
	switch {
	case err != nil:
		return fmt.Errorf("checking %s: %w", path, err)
	case at.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link; remove it", path)
	case !at.IsDir():
		return fmt.Errorf("%s is not a directory; remove it", path)
	}
	return private(path, at)
}

// standard are the places that need no variable.
func standard() []candidate {
	id := os.Geteuid()
	if id < 0 { // Windows: the directory for temporary files is the user's own
		return []candidate{{os.TempDir(), dirName}}
	}
	return []candidate{
		{filepath.Join("/run/user", strconv.Itoa(id)), dirName}, // pam_systemd(8)
		{"/tmp", dirName + "-" + strconv.Itoa(id)},
	}
}

//go:build unix

package runtimedir_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/runtimedir"
)

func fifo(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

func xdg(value string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name != "XDG_RUNTIME_DIR" || value == "-" {
			return "", false
		}
		return value, true
	}
}

func parent(t *testing.T) string {
	t.Helper()
	return filepath.Dir(private(t).Path() + "/x")
}

func TestFind(t *testing.T) {
	t.Parallel()
	one, two := parent(t), parent(t)
	long := filepath.Join(one, strings.Repeat("l", runtimedir.MaxPath))
	require.NoError(t, os.Mkdir(long, 0o700))
	at := func(p string) string { return filepath.Join(p, "sw-postgres-mcp") }
	for name, c := range map[string]struct {
		env  string
		in   []string
		want string
	}{
		"the variable":        {one, []string{two}, at(one)},
		"again":               {one, []string{two}, at(one)},
		"no variable":         {"-", []string{two, one}, at(two)},
		"empty":               {"", []string{two}, at(two)},
		"relative":            {"tmp", []string{two}, at(two)},
		"there is none":       {filepath.Join(one, "none"), []string{two}, at(two)},
		"not a directory":     {"/dev/null", []string{two}, at(two)},
		"too long for a path": {long, []string{two}, at(two)},
		"not the first place": {"-", []string{"/nowhere/at/all", two}, at(two)},
	} {
		d, err := runtimedir.FindIn(xdg(c.env), c.in...)
		require.NoError(t, err, name)
		require.Equal(t, c.want, d.Path(), name)
		st, err := os.Stat(d.Path())
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), st.Mode().Perm(), name)
	}
	_, err := runtimedir.FindIn(xdg("-"), "/nowhere/at/all")
	require.ErrorContains(t, err, "/nowhere/at/all")
	// The real places, whatever they are here.
	d, err := runtimedir.Find(xdg(one))
	require.NoError(t, err)
	require.Equal(t, at(one), d.Path())
	// A parent that others may write, without the sticky bit, is passed over.
	require.NoError(t, os.Chmod(one, 0o777))
	d, err = runtimedir.FindIn(xdg(one), two)
	require.NoError(t, err)
	require.Equal(t, at(two), d.Path())
	require.NoError(t, os.Chmod(one, 0o777|os.ModeSticky))
	d, err = runtimedir.FindIn(xdg(one), two)
	require.NoError(t, err)
	require.Equal(t, at(one), d.Path())
}

// Somebody tampered with the place: nothing is used instead of it, and the error says what to do.
func TestFindRefusesWhatIsNotPrivate(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(string) error{
		"symbolic link": func(path string) error {
			target := path + "-real"
			if err := os.Mkdir(target, 0o700); err != nil {
				return err
			}
			return os.Symlink(target, path)
		},
		"is not a directory":       func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)), 0o600) },
		"may be entered by others": func(path string) error { return os.Mkdir(path, 0o750) },
	} {
		one, two := parent(t), parent(t)
		require.NoError(t, spoil(filepath.Join(one, "sw-postgres-mcp")))
		_, err := runtimedir.FindIn(xdg(one), two)
		require.ErrorContains(t, err, want)
		_, err = os.Stat(filepath.Join(two, "sw-postgres-mcp"))
		require.ErrorIs(t, err, os.ErrNotExist, want)
	}
	// Another owner: root can give a directory away, others look at one of root's.
	foreign := "/usr"
	if os.Geteuid() == 0 {
		foreign = filepath.Join(parent(t), "sw-postgres-mcp")
		require.NoError(t, os.Mkdir(foreign, 0o700))
		require.NoError(t, os.Chown(foreign, 12345, 12345))
	}
	_, err := runtimedir.At(foreign)
	require.ErrorContains(t, err, "belongs to another user")
}

func TestName(t *testing.T) {
	t.Parallel()
	d := private(t)
	path := filepath.Join(d.Path(), "name")
	require.Empty(t, d.Name())
	require.NoError(t, d.SetName(""))
	require.NoError(t, d.SetName("  Ada Lovelace \u00e9\u4e2d "))
	require.Equal(t, "Ada Lovelace \u00e9\u4e2d", d.Name())
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	for _, bad := range []string{"two\nlines", "\x1b[2J", "\xff", strings.Repeat("x", 201), "a\x00b"} {
		require.Error(t, d.SetName(bad), "%q", bad)
	}
	require.Equal(t, "Ada Lovelace \u00e9\u4e2d", d.Name())
	long := strings.Repeat("\u4e2d", 200)
	require.NoError(t, d.SetName(long))
	require.Equal(t, long, d.Name())
	require.NoError(t, d.SetName(""))
	require.Empty(t, d.Name())
	require.NoFileExists(t, path)

	secret := filepath.Join(d.Path(), "elsewhere")
	for name, spoil := range map[string]func() error{
		"a link":     func() error { return os.Symlink(secret, path) },
		"a pipe":     func() error { return syscall.Mkfifo(path, 0o600) },
		"1 MB":       func() error { return os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)), 0o600) },
		"garbage":    func() error { return os.WriteFile(path, []byte("\xff\xfe\x00"), 0o600) },
		"two lines":  func() error { return os.WriteFile(path, []byte("a\nb\n"), 0o600) },
		"an escape":  func() error { return os.WriteFile(path, []byte("\x1b]0;x\x07"), 0o600) },
		"201 in it":  func() error { return os.WriteFile(path, []byte(strings.Repeat("\u4e2d", 201)), 0o600) },
		"only space": func() error { return os.WriteFile(path, []byte(" \n"), 0o600) },
	} {
		require.NoError(t, os.WriteFile(secret, []byte("not a name of ours"), 0o600))
		require.NoError(t, spoil(), name)
		require.Empty(t, d.Name(), name)
		require.NoError(t, d.SetName("Ada"), name)
		require.Equal(t, "Ada", d.Name(), name)
		kept, err := os.ReadFile(secret)
		require.NoError(t, err)
		require.Equal(t, "not a name of ours", string(kept), name)
		require.NoError(t, os.Remove(path))
	}
	require.NoError(t, os.Mkdir(path, 0o700))
	require.Empty(t, d.Name())
	require.Error(t, d.SetName("Ada"))
	require.Equal(t, []string{"elsewhere", "name"}, content(t, d), "nothing is left behind")
}

package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesThatOthersMayRead(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL_READONLY=postgres://r@h/d", "DATABASE_URL_WRITER=postgres://w@h/d"}
	const (
		none  = `{"callerId":"x"}`
		plain = `{"database":{"readonlyConnectionString":"postgres://r@h/d","writerConnectionString":"host=h user=w"}}`
		words = `{"database":{"writerConnectionString":"host=h user=w PassWord = 'x y'"}}`
		query = `{"database":{"readonlyConnectionString":"postgres://h/d?user=r&password=x"}}`
		token = `{"approvalServer":{"authToken":"0123456789abcdef0123456789abcdef"}}`
	)
	for _, c := range []struct {
		file string
		mode os.FileMode
		says string
	}{
		{`{` + urls + `}`, 0o600, ""},
		{`{` + urls + `}`, 0o644, "may be read by other accounts of this machine (mode 0644)"},
		{`{` + urls + `}`, 0o640, "may be read"},
		{`{` + urls + `}`, 0o604, "may be read"},
		{words, 0o644, "database.writerConnectionString"},
		{query, 0o644, "database.readonlyConnectionString"},
		{token, 0o644, "approvalServer.authToken"},
		{none, 0o644, ""},
		{plain, 0o644, ""},
		{none, 0o666, "may be changed by other accounts"},
		{none, 0o602, "may be changed"},
		{none, 0o664, ""}, // a group of one's own is the default on some systems
	} {
		b := setup(t, c.file, env...)
		require.NoError(t, os.Chmod(b.path, c.mode))
		_, notes, err := b.load()
		require.NoError(t, err)
		all := strings.Join(notes.Warnings, "\n")
		require.NotContains(t, all, password)
		if c.says == "" {
			require.NotContains(t, all, "accounts", "%s %o", c.file, c.mode)
			continue
		}
		require.Contains(t, all, c.says, "%s %o", c.file, c.mode)
		require.Contains(t, all, "chmod 600 "+b.path)
	}
}

package config

import (
	"net/url"
	"os"
	"regexp"
	"runtime"
)

// keyword finds the password of a connection string of keywords (PostgreSQL manual, 34.1.1.1).
var keyword = regexp.MustCompile(`(?i)\bpassword\s*=`)

// warnExposed says so when the file holds a password and other accounts of the machine may read it, or
// when all may write it: who writes it decides what an agent may do. It comes behind takeFile and before the
// environment, since a password that is not used is a password all the same.
func (l *loader) warnExposed() {
	if runtime.GOOS == "windows" { // the bits say nothing there
		return
	}
	info, err := os.Stat(l.notes.File)
	if err != nil {
		return
	}
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		l.warn("%s may be changed by other accounts of this machine (mode %04o): chmod 600 %s", l.notes.File, mode, l.notes.File)
		return
	}
	if mode&0o044 == 0 {
		return
	}
	for _, key := range []string{"database.readonlyConnectionString", "database.writerConnectionString", "approvalServer.authToken"} {
		if text := l.text(key); l.source[key] != "" && (key == "approvalServer.authToken" && text != "" || hasPassword(text)) {
			l.warn("%s holds a secret (%s) and may be read by other accounts of this machine (mode %04o): chmod 600 %s", l.notes.File, key, mode, l.notes.File)
			return
		}
	}
}

func hasPassword(connection string) bool {
	if u, err := url.Parse(connection); err == nil && u.Scheme != "" {
		pw, _ := u.User.Password()
		return pw != "" || u.Query().Has("password")
	}
	return keyword.MatchString(connection)
}

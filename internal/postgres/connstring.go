package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const mask = "*****"

var (
	// A URL's password: greedy up to the last @ before white space, since a raw @, / or # may stand
	// inside the password.
	urlPassword = regexp.MustCompile(`(?i)(postgres(?:ql)?://[^:@/\s]*):[^\s]*@`)
	keyPassword = regexp.MustCompile(`(?i)\b((?:ssl)?password|pass)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)`)
)

// Redact masks everything in s that looks like a password in a connection string, URL or keywords.
// It rather masks too much than too little.
func Redact(s string) string {
	s = urlPassword.ReplaceAllString(s, "${1}:"+mask+"@")
	return keyPassword.ReplaceAllString(s, "${1}${2}"+mask)
}

// parseConfig parses one connection string. The driver's error text is never passed on: it masks
// passwords only as well as it can guess where they are.
func parseConfig(role Role, url string) (*pgxpool.Config, error) {
	if strings.TrimSpace(url) == "" {
		return nil, fmt.Errorf("%s is empty", role)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %s", role, adviseURL(url, err))
	}
	if strings.Contains(cfg.ConnConfig.Host, "@") || strings.ContainsAny(cfg.ConnConfig.Host, "#?%") {
		return nil, fmt.Errorf("%s cannot be read: %s", role, rawPassword)
	}
	return cfg, nil
}

const rawPassword = "special characters in the password must be percent-encoded in a URL " +
	"(@ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25, [ is %5B, ] is %5D, space is %20); " +
	"or write it as keywords (host=… user=… password='…' dbname=…), or leave it out and use PGPASSWORD or a pgpass file"

// adviseURL says what is probably wrong, from the string's shape and fixed words of the driver's
// error, without repeating any part of either.
func adviseURL(url string, err error) string {
	isURL := strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
	var parse *pgconn.ParseConfigError
	detail := err.Error()
	if errors.As(err, &parse) && parse.Unwrap() != nil {
		detail = parse.Unwrap().Error()
	}
	has := func(word string) bool { return strings.Contains(detail, word) || strings.Contains(err.Error(), word) }
	switch {
	case !isURL && !strings.Contains(url, "="):
		return "it is neither a URL (postgres://user:password@host:5432/database) nor keywords (host=… user=… dbname=…)"
	case isURL && suspiciousUserinfo(url):
		return rawPassword
	case isURL && has("URI query parameter"):
		return "what stands behind the ? must be key=value, joined by &; inside a value = is %3D, & is %26 and a space is %20, as in options=-csearch_path%3Dapp"
	case has("sslmode is invalid"):
		return "sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full"
	case has("CA file"), has("sslrootcert"), has("root.crt"):
		return "the file named by sslrootcert cannot be read as a certificate"
	case has("sslcert"), has("sslkey"), has("client certificate"), has("key pair"):
		return "the files named by sslcert and sslkey cannot be read as a certificate and its key"
	case has("service"):
		return "the connection service cannot be read from the service file"
	case has("port"):
		return "the port is not a number from 1 to 65535; if the password holds special characters, that is the reason: " + rawPassword
	case has("connect_timeout"):
		return "connect_timeout is not a number of seconds"
	case has("unknown channel_binding"), has("unknown target_session_attrs"), has("require_auth"):
		return "channel_binding, target_session_attrs or require_auth has a value that is not accepted"
	case has("pool_"):
		return "a pool_… parameter has a value that is not accepted"
	case isURL:
		return "it is not a valid URL; " + rawPassword
	default:
		return "the keywords are not valid; quote values that hold spaces or backslashes: password='…', with \\' for a quote and \\\\ for a backslash"
	}
}

// suspiciousUserinfo tells whether the part before the last @ holds characters that end it early.
func suspiciousUserinfo(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return false
	}
	_, password, found := strings.Cut(rest[:at], ":")
	return found && strings.ContainsAny(password, "@:/#?[] %") && !onlyEscapes(password)
}

var escapesOnly = regexp.MustCompile(`^(?:[^@:/#?\[\] %]|%[0-9A-Fa-f]{2})*$`)

func onlyEscapes(s string) bool { return escapesOnly.MatchString(s) }

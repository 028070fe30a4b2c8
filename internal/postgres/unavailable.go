package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// unavailable says why the database cannot be reached, by kind of cause. The driver's own text is
// not passed on: it names files and repeats what was configured.
func (p *Pool) unavailable(err error) *refusal.Error {
	cause, hint := p.cause(err)
	p.db.log.Warn("connecting failed", "pool", p.role.String(), "cause", cause)
	return refusal.New(refusal.DatabaseUnavailable, p.db.Redact(cause), p.db.Redact(hint))
}

func (t target) address() string {
	if strings.HasPrefix(t.host, "/") || strings.HasPrefix(t.host, "@") {
		return "the local socket"
	}
	return net.JoinHostPort(t.host, fmt.Sprint(t.port))
}

func (p *Pool) cause(err error) (message, hint string) {
	t, key := p.target, p.role.String()
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return causeByState(pg, t, key)
	}
	var dns *net.DNSError
	var unknownCA x509.UnknownAuthorityError
	var badHost x509.HostnameError
	var badCert x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("the host name %q of the database cannot be resolved", t.host),
			"check the host in " + key
	case errors.As(err, &unknownCA):
		return "the server's TLS certificate is not signed by a trusted authority",
			"name the authority's certificate with sslrootcert in " + key
	case errors.As(err, &badHost):
		return fmt.Sprintf("the server's TLS certificate is not for the host name %q", t.host),
			"use the name in the certificate as host, or sslmode=verify-ca, in " + key
	case errors.As(err, &badCert) && badCert.Reason == x509.Expired:
		return "the server's TLS certificate has expired or is not valid yet", "renew the certificate of the server, and check this machine's clock (the connection is that of " + key + ")"
	case errors.As(err, &badCert), errors.As(err, &verify), errors.As(err, &record):
		return "the TLS connection to the database could not be made", "check sslmode and sslrootcert in " + key
	case strings.Contains(err.Error(), "server refused TLS"):
		return fmt.Sprintf("the server at %s does not offer TLS, but sslmode asks for it", t.address()),
			"turn TLS on in the server, or set sslmode in " + key
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s (connection refused)", t.address()),
			"start Postgres, or correct host and port in " + key + "; then simply call again"
	case errors.Is(err, os.ErrNotExist):
		return "there is no Postgres socket at the configured place", "start Postgres, or correct the host in " + key
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("there is no network route to %s", t.address()), "check the network and the host in " + key
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err), os.IsTimeout(err):
		return fmt.Sprintf("%s did not answer within %s", t.address(), p.opts.AcquireTimeout),
			"check host, port and firewall of " + key + "; then call again"
	case strings.Contains(err.Error(), "password") || strings.Contains(err.Error(), "SASL") || strings.Contains(err.Error(), "SCRAM"):
		return fmt.Sprintf("signing in as %q failed", t.user), "check the password in " + key
	}
	return fmt.Sprintf("the connection to %s could not be made or was lost while it was being made", t.address()),
		"check the server's log and " + key + "; then call again"
}

// causeByState reads the SQLSTATE of a refused start-up (PostgreSQL manual, appendix A).
func causeByState(e *pgconn.PgError, t target, key string) (message, hint string) {
	switch e.Code {
	case "28P01":
		return fmt.Sprintf("password authentication failed for user %q at %s", t.user, t.address()),
			"check user and password in " + key
	case "28000":
		return fmt.Sprintf("the server at %s does not let user %q sign in to database %q this way", t.address(), t.user, t.database),
			"check that the role exists and may log in, and the server's pg_hba.conf"
	case "3D000":
		return fmt.Sprintf("database %q does not exist at %s", t.database, t.address()), "correct the database name in " + key
	case "42501":
		return fmt.Sprintf("user %q may not connect to database %q", t.user, t.database),
			"GRANT CONNECT ON DATABASE to the role, or correct " + key
	case "42704", "22023", "42602":
		if name := othersParameter(e.Message); e.Code == "42704" && name != "" {
			return fmt.Sprintf("the connection string has the parameter %s, which this program does not know and the server at %s takes for a setting (SQLSTATE %s)", name, t.address(), e.Code),
				"take " + name + " out of " + key
		}
		return fmt.Sprintf("the server at %s refused a setting that the connection string asks for (SQLSTATE %s)", t.address(), e.Code),
			"correct options=… and the other settings in " + key + "; in a URL a space is %20, and + is a plus"
	case "53300":
		return fmt.Sprintf("the server at %s has no connection left", t.address()),
			"lower database.maxConnections, or raise the server's max_connections or the role's connection limit"
	case "57P03":
		return fmt.Sprintf("the server at %s is starting up or shutting down", t.address()), "call again in a moment"
	case "08P01":
		return fmt.Sprintf("the server at %s refused the start-up parameters (SQLSTATE 08P01)", t.address()),
			"behind a connection pooler leave options=… and settings out of " + key
	}
	return fmt.Sprintf("the server at %s refused the connection (SQLSTATE %s)", t.address(), e.Code),
		"check the server's log and " + key
}

// othersParameters are what connection strings for other programs hold: parameters of libpq (PostgreSQL manual, 34.1.2)
// that pgx does not implement and so hands to the server as settings, and those of widespread ORMs.
var othersParameters = []string{
	"hostaddr", "gssencmode", "gssdelegation", "krbsrvname", "gsslib", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
	"fallback_application_name", "load_balance_hosts", "requirepeer", "sslcompression", "sslcrl", "sslcrldir", "sslcertmode", "replication", "requiressl",
	"pgbouncer", "connection_limit", "pool_timeout", "schema", "sslaccept", "ssl",
}

// othersParameter is the one of them that Postgres' message names, or "". Only these are ever repeated: with a password that
// is not percent-encoded, a part of it may have become the name of a setting.
func othersParameter(message string) string {
	for word := range strings.FieldsFuncSeq(message, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') }) {
		if slices.Contains(othersParameters, word) {
			return word
		}
	}
	return ""
}

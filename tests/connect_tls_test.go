package tests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// authority signs certificates of the test's own.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // its certificate, for sslrootcert
}

func pemFile(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func newAuthority(t testing.TB, dir, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	a := &authority{key: key, file: filepath.Join(dir, name+".crt")}
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	pemFile(t, a.file, "CERTIFICATE", der)
	return a
}

// install gives the running server a certificate for the name localhost, and returns when it uses it.
func (a *authority) install(t testing.TB, db *pgtemp.DB, dir, name string, until time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	// Postgres reads the key only where it is its own user's.
	st, err := os.Stat(db.Query(t, "SHOW data_directory")[0][0])
	require.NoError(t, err)
	owner, ok := st.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	for file, kind := range map[string]string{"cert": "CERTIFICATE", "key": "PRIVATE KEY"} {
		path := filepath.Join(dir, name+"."+file)
		content := der
		if file == "key" {
			content = secret
		}
		pemFile(t, path, kind, content)
		require.NoError(t, os.Chown(path, int(owner.Uid), int(owner.Gid)))
		db.Exec(t, fmt.Sprintf("ALTER SYSTEM SET ssl_%s_file = '%s'", file, path))
	}
	db.Exec(t, "ALTER SYSTEM SET ssl = on")
	db.Exec(t, "SELECT pg_reload_conf()")
	eventually(t, "the server has read its certificate", func() bool {
		return db.Query(t, "SHOW ssl_key_file")[0][0] == filepath.Join(dir, name+".key") && db.Query(t, "SHOW ssl")[0][0] == "on"
	})
}

// TLS in each mode, with the right authority, a wrong one, and a certificate for another name (C36: both pools are
// held to it). Each failure says what it is.
func TestConnectTLS(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sw-tls-") //nolint:usetesting // root's t.TempDir is closed to the user that Postgres runs as
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // for that user to pass; the key in it has rights of its own
	right, wrong := newAuthority(t, dir, "right"), newAuthority(t, dir, "wrong")
	db := world(t, pgtemp.OwnCluster(false))
	right.install(t, db, dir, "good", time.Now().Add(time.Hour))
	const secret = "S3cr3t-and-long"
	p := rolesWith(t, db, secret)
	at := func(user, host, mode, root string) string {
		q := p
		q.host = host
		query := "sslmode=" + mode
		if root != "" {
			query += "&sslrootcert=" + url.QueryEscape(root)
		}
		return q.url(user, secret, query)
	}
	type way struct{ host, mode, root, says string }
	const name, ip = "localhost", "127.0.0.1"
	check := func(t *testing.T, w way) {
		t.Helper()
		readonly, writer := at(p.readonly, w.host, w.mode, w.root), at(p.writer, w.host, w.mode, w.root)
		if w.says == "" {
			connects(t, readonly, writer, nil, "S3cr3t")
			return
		}
		good := "verify-full"
		require.Contains(t, fails(t, readonly, at(p.writer, name, good, right.file), nil, "S3cr3t", dir), "FAIL  readonly")
		got := fails(t, at(p.readonly, name, good, right.file), writer, nil, "S3cr3t", dir)
		require.Contains(t, got, "FAIL  writer")
		require.Contains(t, got, w.says)
		require.Contains(t, got, "database.writerConnectionString")
	}
	for _, w := range []way{
		{ip, "require", "", ""},
		{ip, "prefer", "", ""},
		{ip, "verify-ca", right.file, ""},
		{name, "verify-full", right.file, ""},
		{ip, "verify-full", right.file, `the server's TLS certificate is not for the host name "127.0.0.1"`},
		{name, "verify-full", wrong.file, "not signed by a trusted authority"},
		{name, "verify-ca", wrong.file, "not signed by a trusted authority"},
		{name, "require", wrong.file, "not signed by a trusted authority"}, // with a root, require is verify-ca (manual, 34.19.1)
	} {
		t.Run(fmt.Sprintf("%s %s %s", w.host, w.mode, filepath.Base(w.root)), func(t *testing.T) { check(t, w) })
	}

	t.Run("every tool", func(t *testing.T) {
		works(t, db, options{readonly: at(p.readonly, name, "verify-full", right.file), writer: at(p.writer, name, "verify-full", right.file)}, secret)
		s := start(t, db, options{readonly: at(p.readonly, name, "verify-full", right.file), writer: at(p.writer, name, "verify-full", right.file)})
		s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
		s.preview("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"})
		require.ElementsMatch(t, [][]string{{p.readonly, "t"}, {p.writer, "t"}}, db.Query(t,
			"SELECT DISTINCT a.usename, l.ssl FROM pg_stat_activity a JOIN pg_stat_ssl l USING (pid) WHERE a.usename IN ($1, $2)", p.readonly, p.writer))
	})

	right.install(t, db, dir, "old", time.Now().Add(-time.Hour))
	t.Run("expired", func(t *testing.T) {
		check(t, way{name, "verify-full", right.file, "the server's TLS certificate has expired"})
	})
	db.Exec(t, "ALTER SYSTEM SET ssl = off")
	db.Exec(t, "SELECT pg_reload_conf()")
	eventually(t, "the server has no TLS", func() bool { return db.Query(t, "SHOW ssl")[0][0] == "off" })
	t.Run("none", func(t *testing.T) {
		got := fails(t, at(p.readonly, ip, "disable", ""), at(p.writer, ip, "verify-full", right.file), nil, "S3cr3t", dir)
		require.Contains(t, got, "does not offer TLS, but sslmode asks for it")
		connects(t, at(p.readonly, ip, "prefer", ""), at(p.writer, ip, "disable", ""), nil, "S3cr3t")
	})
}

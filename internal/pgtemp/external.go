package pgtemp

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	envURL    = "SW_TEST_POSTGRES_URL"
	envBin    = "SW_TEST_POSTGRES_BIN"
	envDocker = "SW_TEST_POSTGRES_DOCKER"

	databasePrefix = "sw_test_"
)

func dockerOnly() bool { return os.Getenv(envDocker) == "1" }

// external is a cluster that somebody else started and named. It is never stopped.
type external struct{}

func (external) stop() error      { return nil }
func (external) describe() string { return "the cluster that " + envURL + " names" }

// newExternal uses the cluster that url, a superuser's, names. Roles and templates are made there,
// and the passwords of the roles are set: it must be a cluster nobody needs.
func newExternal(ctx context.Context, url string) (*Cluster, error) {
	c := &Cluster{
		sslmode: "disable", srv: external{}, external: true, session: randomHex(4),
		passwords: map[string]string{}, templates: map[string]string{},
	}
	if err := c.adopt(url); err != nil {
		return nil, fmt.Errorf("%s: %w", envURL, err)
	}
	c.derivePasswords()
	c.mu.Lock()
	defer c.mu.Unlock()
	admin, err := c.adminConn(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", envURL, err)
	}
	var super bool
	if err := admin.QueryRow(ctx, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&super); err != nil {
		return nil, fmt.Errorf("%s: %w", envURL, err)
	}
	if !super {
		return nil, fmt.Errorf("%s: user %s is not a superuser, so it cannot make roles and databases for tests", envURL, c.superuser)
	}
	return c, nil
}

// markAlive holds a session lock that stands for this process's databases, so that another
// process can tell what a killed one left behind.
func (c *Cluster) markAlive(ctx context.Context, conn *pgx.Conn) error {
	key, err := sessionKey(c.session)
	if err != nil {
		return err
	}
	return run(ctx, conn, fmt.Sprintf("SELECT pg_advisory_lock(%d)", key))
}

func sessionKey(session string) (int64, error) {
	n, err := strconv.ParseUint(session, 16, 32)
	return setupLock + 1 + int64(n), err
}

// dropStale drops the databases of processes that are gone. It runs under setupLock.
func dropStale(ctx context.Context, admin *pgx.Conn) error {
	rows, err := admin.Query(ctx, "SELECT datname FROM pg_database WHERE datname LIKE $1", strings.ReplaceAll(databasePrefix, "_", `\_`)+"%")
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		session, _, ok := strings.Cut(strings.TrimPrefix(name, databasePrefix), "_")
		key, err := sessionKey(session)
		if !ok || err != nil {
			continue // not a name of ours
		}
		var gone bool
		if err := admin.QueryRow(ctx, fmt.Sprintf("SELECT pg_try_advisory_lock(%d)", key)).Scan(&gone); err != nil {
			return err
		}
		if !gone {
			continue
		}

		if err := run(ctx, admin, fmt.Sprintf("SELECT pg_advisory_unlock(%d)", key)); err != nil {
			return err
		}
		if err := run(ctx, admin, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"); err != nil {
			return err
		}
	}
	return nil
}

package pgtemp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5"

	initsql "github.com/jpka/sw-postgres-mcp/docker/init"
)

// contents of a template: which files of docker/init it holds, in order.
var contents = map[string][]string{
	"plain": {"01_roles.sql", "02_audit.sql"},
	"demo":  {"01_roles.sql", "02_audit.sql", "03_demo.sql"},
}

// setupLock is the advisory lock under which roles and templates are made: on a cluster that
// several test processes share (SW_TEST_POSTGRES_URL), GRANT and ALTER ROLE at the same time fail
// with "tuple concurrently updated".
const setupLock = 0x73775f746d70 // "sw_tmp"

// CreateDatabase makes a database with roles and audit table (the demo's tables are not in it).
// An empty name gets a free one. Calls may run in parallel; they take turns.
func (c *Cluster) CreateDatabase(ctx context.Context, name string) (URLs, error) {
	_, urls, err := c.create(ctx, name, "plain")
	return urls, err
}

func (c *Cluster) create(ctx context.Context, name, kind string) (string, URLs, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	admin, err := c.adminConn(ctx)
	if err != nil {
		return "", URLs{}, err
	}
	template, ok := c.templates[kind]
	if !ok {
		if template, err = c.makeTemplate(ctx, admin, kind); err != nil {
			return "", URLs{}, fmt.Errorf("preparing the template database: %w", err)
		}
		c.templates[kind] = template
	}
	if name == "" {
		name = databasePrefix + c.session + "_" + randomHex(4)
	}
	if err := run(ctx, admin, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(template)); err != nil {
		return "", URLs{}, fmt.Errorf("creating database %s: %w", name, err)
	}
	return name, c.urls(name), nil
}

func (c *Cluster) drop(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	admin, err := c.adminConn(ctx)
	if err != nil {
		return err
	}
	return run(ctx, admin, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
}

// makeTemplate makes the template database of that kind, or finds the one that another process
// made from the same SQL. It is filled under another name first, so a half-filled one is never used.
func (c *Cluster) makeTemplate(ctx context.Context, admin *pgx.Conn, kind string) (name string, err error) {
	h := sha256.New()
	texts := make([]string, 0, len(contents[kind]))
	for _, file := range contents[kind] {
		text, err := initsql.Files.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", file, err)
		}
		h.Write(text)
		texts = append(texts, string(text))
	}
	name = "sw_template_" + kind + "_" + hex.EncodeToString(h.Sum(nil)[:6])

	if err := run(ctx, admin, fmt.Sprintf("SELECT pg_advisory_lock(%d)", setupLock)); err != nil {
		return "", err
	}
	defer func() {
		unlock := run(context.WithoutCancel(ctx), admin, fmt.Sprintf("SELECT pg_advisory_unlock(%d)", setupLock))
		if err == nil {
			err = unlock
		}
	}()
	if c.external && len(c.templates) == 0 {
		if err := dropStale(ctx, admin); err != nil {
			return "", err
		}
	}

	var exists bool
	if err := admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil {
		return "", err
	}
	if !exists {
		filling := name + "_" + randomHex(4)
		if err := run(ctx, admin, "CREATE DATABASE "+quote(filling)+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
			return "", err
		}
		if err := c.fill(ctx, filling, contents[kind], texts); err != nil {
			_ = run(context.WithoutCancel(ctx), admin, "DROP DATABASE "+quote(filling)+" WITH (FORCE)") // the first error is the one to tell
			return "", err
		}
		// Nobody can connect to it any more, so cloning never finds it in use.
		for _, sql := range []string{
			"ALTER DATABASE " + quote(filling) + " RENAME TO " + quote(name),
			"ALTER DATABASE " + quote(name) + " WITH IS_TEMPLATE true ALLOW_CONNECTIONS false",
		} {
			if err := run(ctx, admin, sql); err != nil {
				return "", err
			}
		}
	}
	for _, role := range []string{roleReadonly, roleWriter} {
		if err := run(ctx, admin, "ALTER ROLE "+role+" PASSWORD '"+c.passwords[role]+"'"); err != nil {
			return "", fmt.Errorf("setting the password of %s: %w", role, err)
		}
	}
	return name, nil
}

func (c *Cluster) fill(ctx context.Context, database string, files, texts []string) error {
	conn, err := connect(ctx, c.URL(database, c.superuser, c.passwords[c.superuser]))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for i, text := range texts {
		if err := run(ctx, conn, text); err != nil {
			return fmt.Errorf("running %s: %w", files[i], err)
		}
	}
	return conn.Close(ctx) // before the rename, which refuses while somebody is connected
}

// derivePasswords makes the roles' passwords on a shared cluster: the same in every process that
// knows the superuser's password, unknown to the rest.
func (c *Cluster) derivePasswords() {
	key := []byte(c.passwords[c.superuser])
	for _, role := range []string{roleReadonly, roleWriter} {
		if role == c.superuser {
			continue // refused a moment later, and by its own password
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("sw-postgres-mcp test role " + role))
		c.passwords[role] = hex.EncodeToString(mac.Sum(nil)[:16])
	}
}

// run sends SQL texts of our own as one simple query.
func run(ctx context.Context, conn *pgx.Conn, sql string) error {
	_, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

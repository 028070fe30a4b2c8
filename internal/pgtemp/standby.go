package pgtemp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Standby makes a standby of the test's own cluster that follows it by streaming, and returns the same
// database there. Its server is another one, to be Killed and Restarted apart from the first.
//
// The cluster is stopped for it and started again, so connections that were open are lost. The standby
// is stopped, and everything of it removed, when the test ends. See TestStandbyIsPromoted.
func (db *DB) Standby(t TB) *DB {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := db.Cluster.standby(ctx)
	if err != nil {
		t.Fatalf("pgtemp: making a standby: %v", err)
	}
	other := &DB{Name: db.Name, URLs: c.urls(db.Name), Cluster: c}
	t.Cleanup(func() {
		other.mu.Lock()
		for _, conn := range other.idle {
			_ = conn.Close(context.Background()) // its server goes in a moment
		}
		other.mu.Unlock()
		if err := c.Stop(); err != nil {
			t.Fatalf("pgtemp: stopping the standby: %v", err)
		}
	})
	return other
}

// CaughtUp waits until the standby has replayed everything that the primary has written so far.
func (db *DB) CaughtUp(t TB, primary *DB) {
	t.Helper()
	lsn := primary.Query(t, "SELECT pg_current_wal_flush_lsn()")[0][0]
	for deadline := time.Now().Add(time.Minute); ; {
		if db.Query(t, "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", lsn)[0][0] == "t" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("pgtemp: after a minute the standby has not replayed %s", lsn)
		}
		time.Sleep(5 * time.Millisecond) // a standby tells nobody how far it is
	}
}

// Detach makes the standby follow no longer: what the primary commits from now on it never has.
func (db *DB) Detach(t TB) {
	t.Helper()
	db.Exec(t, "ALTER SYSTEM SET primary_conninfo = ''")
	db.Exec(t, "SELECT pg_reload_conf()")
	for deadline := time.Now().Add(time.Minute); ; {
		if len(db.Query(t, "SELECT FROM pg_stat_wal_receiver")) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("pgtemp: after a minute the standby still follows")
		}
		time.Sleep(5 * time.Millisecond) // see CaughtUp
	}
}

// Promote makes the standby a primary, on a timeline of its own, and returns when it is one.
func (db *DB) Promote(t TB) {
	t.Helper()
	if got := db.Query(t, "SELECT pg_promote(true, 60)")[0][0]; got != "t" {
		t.Fatalf("pgtemp: the standby was not promoted within a minute")
	}
}

func (c *Cluster) standby(ctx context.Context) (*Cluster, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.srv.(*native)
	if !ok {
		return nil, errors.New("it runs " + c.srv.describe() + ", not from native binaries")
	}
	c.closeAdmin()
	super := c.URL(c.maintain, c.superuser, c.passwords[c.superuser])
	follow := fmt.Sprintf("host=%s port=%d user=%s password=%s", c.host, c.port, c.superuser, c.passwords[c.superuser])
	s, err := n.standby(ctx, super, follow, func(port int) string { return onPort(super, port) })
	if err != nil {
		return nil, err
	}
	return &Cluster{
		host: c.host, port: s.port, superuser: c.superuser, passwords: c.passwords, maintain: c.maintain, sslmode: c.sslmode,
		srv: s, templates: map[string]string{}, session: c.session,
	}, nil
}

// onPort is the same address at another port.
func onPort(raw string, port int) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw // cannot happen: Cluster.URL made it
	}
	u.Host = u.Hostname() + ":" + strconv.Itoa(port)
	return u.String()
}

//go:build crash || faults

package tests

import (
	"net/url"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// redirect leads new connections to another server, as a failover behind one address does.
func (p *pgProxy) redirect(to *pgtemp.DB) {
	p.t.Helper()
	u, err := url.Parse(to.Super)
	require.NoError(p.t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = u.Host
}

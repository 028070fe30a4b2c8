package postgres

import (
	"fmt"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// opened tells whether each segment that begins a transaction had one. Something between this server and
// Postgres may forbid BEGIN, or take it and open nothing; without a transaction nothing can be previewed
// and rolled back, so nothing may be run. What runs before this is seen is stopped by the SAVEPOINT behind
// BEGIN, which Postgres takes in a transaction block only. See TestFieldC43AProxyForbidsBegin.
func (p *Pool) opened(segments []wire.Segment, replies []wire.Reply) error {
	for i, segment := range segments {
		if i >= len(replies) || len(segment) == 0 || !strings.HasPrefix(segment[0].SQL, "BEGIN") {
			continue
		}
		r := replies[i]
		switch {
		case r.Err != nil && r.Err.SQLState == "57014": // a cancel, which the caller knows of
			continue
		case r.Err != nil && len(r.Results) == 0:
			return p.noTransaction(fmt.Sprintf("refuses BEGIN (SQLSTATE %s)", r.Err.SQLState))
		case r.TxStatus == 'I' && !ends(segment):
			return p.noTransaction("does not open a transaction")
		}
	}
	return nil
}

// ends tells whether a segment ends its transaction itself.
func ends(segment wire.Segment) bool {
	for _, s := range segment {
		if strings.HasPrefix(s.SQL, "COMMIT") || s.SQL == "ROLLBACK" {
			return true
		}
	}
	return false
}

func (p *Pool) noTransaction(what string) error {
	return refusal.New(refusal.DatabaseUnavailable,
		fmt.Sprintf("What %s leads to %s. Without a transaction nothing can be previewed or rolled back, so nothing is run.", p.role, what),
		"The operator should connect to Postgres itself, or through a pooler that lets transactions through (transaction or session mode).")
}

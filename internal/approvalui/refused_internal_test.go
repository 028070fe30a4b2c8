package approvalui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// TestRefusalsAreBounded: an hour, 200, and no text that fills the memory; what is no wall is not kept.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	l := &Refusals{now: func() time.Time { return at }}
	told := 0
	l.onAdd(func(n int) { told = n })
	wall := refusal.New(refusal.TableNotWritable, strings.Repeat("é", 5000), "")
	args := json.RawMessage(`{"table":"private.payroll","where":"id = $1","params":["S3cr3t"],"set":{"iban":"S3cr3t"},"reason":"` + strings.Repeat("r", 5000) + `"}`)
	l.Add("update_rows", args, fmt.Errorf("wrapped: %w", wall))
	l.Add("update_rows", args, wall)
	got := l.List()
	require.Len(t, got, 1, "the same twice in a row is one line")
	require.Equal(t, 2, got[0].Times)
	require.Equal(t, "private.payroll WHERE id = $1", got[0].Asked)
	require.Less(t, len([]rune(got[0].Message)), 2100)
	require.Less(t, len(got[0].Reason), 2100)
	require.Contains(t, got[0].Reason, "(5000 characters)")
	out, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(out), "S3cr3t", "no value is kept")

	for _, e := range []error{
		errors.New("a fault"), refusal.New(refusal.AwaitingApproval, "", ""), refusal.New(refusal.QueryFailed, "", ""),
		refusal.New(refusal.DatabaseUnavailable, "", ""), refusal.New(refusal.ExpiredToken, "", ""), nil,
	} {
		l.Add("query", nil, e)
	}
	require.Len(t, l.List(), 1)

	for i := range 500 {
		l.Add("query", json.RawMessage(fmt.Sprintf(`{"statement":"select %d"}`, i)), refusal.New(refusal.NotSelect, "No.", ""))
	}
	got = l.List()
	require.Len(t, got, 200)
	require.Equal(t, 200, told)
	require.Equal(t, "select 499", got[0].Asked, "newest first")
	at = at.Add(time.Hour)
	l.Add("query", json.RawMessage(`not json`), refusal.New(refusal.MultiStatement, "No.", ""))
	got = l.List()
	require.Len(t, got, 1, "an hour later only the new one is left")
	require.Equal(t, "guard", got[0].Kind)

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				l.Add("query", nil, refusal.New(refusal.NotSelect, "No.", ""))
				_ = l.List()
			}
		})
	}
	wg.Wait()
}

// TestRefusedKinds: every code that the tools refuse with is either a wall that a person should see, or
// left out on purpose.
func TestRefusedKinds(t *testing.T) {
	t.Parallel()
	left := map[refusal.Code]bool{}
	for _, c := range []refusal.Code{
		refusal.UnknownToken, refusal.ExpiredToken, refusal.UsedToken, refusal.RowsetChanged, refusal.AwaitingApproval, refusal.AlreadyExecuting,
		refusal.OutcomeUnknown, refusal.SupersededPlan, // a plan's own life, told there
		refusal.StatementTimeout, refusal.LockTimeout, refusal.TooBusy, // load
		refusal.QueryFailed, refusal.ExplainFailed, refusal.WriteFailed, refusal.DatabaseUnavailable, refusal.AuditUnavailable, refusal.InternalError, // the database
	} {
		left[c] = true
	}
	for _, c := range refusal.Codes() {
		kind := refusedKinds[c]
		require.NotEqual(t, kind == "", !left[c], "%s", c)
		require.Contains(t, []string{"", "limit", "allowlist", "guard"}, kind)
	}
}

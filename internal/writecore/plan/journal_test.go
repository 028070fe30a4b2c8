package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// journaled is a store over the journal at path. ended gives the file back, as a death would.
func journaled(t testing.TB, path string, change ...func(*plan.Options)) (b *testBundle, ended func()) {
	t.Helper()
	j, err := plan.OpenJournal(path)
	require.NoError(t, err)
	b = setup(t, append([]func(*plan.Options){func(o *plan.Options) { o.Journal = j }}, change...)...)
	ended = func() {
		b.Close()
		j.Close()
	}
	t.Cleanup(ended)
	return b, ended
}

// previewed is a preview of that payload, over the same rows.
func previewed(p plan.Payload) plan.Preview {
	made := preview("", "8:1:2")
	made.Payload = p
	return made
}

func journalPath(t testing.TB) string { return filepath.Join(t.TempDir(), "plans.jsonl") }

// Every state as it stands after a restart: state, what Begin answers to the payload in full.
func TestJournalReplaysEveryState(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	b, ended := journaled(t, path)
	tokens := map[plan.State]plan.Token{}
	given := map[plan.State]plan.Preview{}
	n := 0
	arranged := func(s plan.State, needs bool) (plan.Token, plan.Preview) {
		n++
		p := previewed(payload(fmt.Sprintf("DELETE FROM app.t WHERE (id = %d)", n), "1"))
		made := b.create(t, p, needs)
		tokens[s], given[s] = made.Token, p
		return made.Token, p
	}
	begin := func(s plan.State) *plan.Execution {
		token, p := arranged(s, true)
		_, _, err := b.Approve(token, "maria")
		require.NoError(t, err)
		return b.begin(t, token, echoOf(p))
	}
	arranged(plan.Previewed, false)
	arranged(plan.AwaitingApproval, true)
	token, _ := arranged(plan.Approved, true)
	_, _, err := b.Approve(token, "maria")
	require.NoError(t, err)
	token, _ = arranged(plan.Rejected, true)
	_, _, err = b.Reject(token, "maria", "too broad")
	require.NoError(t, err)
	begin(plan.Executed).Confirm(8, time.Now())
	begin(plan.Stopped).Stop(string(refusal.RowsetChanged), "The rows changed.")
	begin(plan.Unknown).Unknown("The connection was lost.")
	require.NoError(t, begin(plan.Executing).Committing(plan.Mark{Identity: "7/1", XID: "42", Boot: "now"}))
	_, p := arranged(plan.Superseded, true)
	p.RowsDigest = "other"
	newer := b.create(t, p, true).Token
	ended()

	b, _ = journaled(t, path)
	want := map[plan.State]struct {
		state plan.State
		code  refusal.Code
	}{
		plan.Previewed:        {plan.Previewed, refusal.StatementMismatch}, // until it is revived
		plan.AwaitingApproval: {plan.AwaitingApproval, refusal.StatementMismatch},
		plan.Approved:         {plan.AwaitingApproval, refusal.StatementMismatch}, // the approval is not carried over
		plan.Executing:        {plan.Unknown, refusal.OutcomeUnknown},
		plan.Unknown:          {plan.Unknown, refusal.OutcomeUnknown},
		plan.Executed:         {plan.Executed, refusal.UsedToken},
		plan.Stopped:          {plan.Stopped, refusal.RowsetChanged},
		plan.Rejected:         {plan.Rejected, refusal.PlanRejected},
		plan.Superseded:       {plan.Superseded, refusal.SupersededPlan},
	}
	require.Len(t, tokens, len(want))
	for was, w := range want {
		got, ok := b.Get(tokens[was])
		require.True(t, ok, was)
		require.Equal(t, w.state, got.State, was)
		_, err := b.Begin(tokens[was], echoOf(given[was]))
		require.True(t, refusal.Is(err, w.code), "%s: %v", was, err)
		if was == plan.Executing {
			mark, ok := b.MarkOf(tokens[was])
			require.True(t, ok)
			require.Equal(t, plan.Mark{Identity: "7/1", XID: "42", Boot: "now"}, mark)
		}
		if was == plan.Executed {
			require.EqualValues(t, 8, got.ExecutedRows)
		}
		if was == plan.Superseded {
			require.Equal(t, newer, got.SupersededBy)
		}
		// Nobody can decide about what he does not see.
		if w.state == plan.AwaitingApproval {
			_, _, err := b.Approve(tokens[was], "maria")
			require.True(t, refusal.Is(err, refusal.UnknownToken), "%s: %v", was, err)
		}
	}
	for _, p := range b.List() {
		require.Equal(t, plan.Unknown, p.State, "an open plan without a statement is shown")
	}
	require.Len(t, b.Unsettled(), 2)

	// Settled as the ledger says: back to where it was, but without the approval.
	b.Settle(tokens[plan.Executing], false, 0, time.Now())
	got, _ := b.Get(tokens[plan.Executing])
	require.Equal(t, plan.AwaitingApproval, got.State)
	b.Settle(tokens[plan.Unknown], true, 8, time.Now())
	got, _ = b.Get(tokens[plan.Unknown])
	require.Equal(t, plan.Executed, got.State)

	// The rejection is remembered, so that the same statement says so.
	again := b.create(t, given[plan.Rejected], true)
	require.NotNil(t, again.Earlier)
}

func TestJournalRevivesAPlan(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	b, ended := journaled(t, path)
	p := previewed(payload("DELETE FROM app.t WHERE (id = $1)", "9007199254740993"))
	small := b.create(t, p, false)
	q := previewed(payload("DELETE FROM app.t WHERE (id > $1)", `"x"`))
	large := b.create(t, q, true)
	r := previewed(payload("DELETE FROM app.t WHERE (id < $1)", "1"))
	tighter := b.create(t, r, false)
	ended()

	b, ended = journaled(t, path)
	// Another statement, other params, and the fingerprint alone are not the plan's.
	for name, e := range map[string]plan.Echo{
		"statement":   echoOf(previewed(payload("DELETE FROM app.t WHERE (id = $1 )", "9007199254740993"))),
		"params":      echoOf(previewed(payload("DELETE FROM app.t WHERE (id = $1)", "9007199254740992"))),
		"fingerprint": {Payload: &plan.Payload{Statement: p.Payload.Statement}, Fingerprint: small.Fingerprint},
		"nothing":     {},
	} {
		_, ok := b.Dormant(small.Token, e)
		require.False(t, ok, name)
		_, err := b.Begin(small.Token, e)
		require.True(t, refusal.Is(err, refusal.StatementMismatch), "%s: %v", name, err)
	}
	got, ok := b.Dormant(small.Token, echoOf(p))
	require.True(t, ok)
	require.Equal(t, p.RowsDigest, got.RowsDigest)
	require.Empty(t, got.BlastRadius.Difference(p.BlastRadius))
	require.NoError(t, b.Revive(small.Token, p, false))
	b.begin(t, small.Token, echoOf(p)).Confirm(1, time.Now())

	require.NoError(t, b.Revive(large.Token, q, true))
	_, err := b.Begin(large.Token, echoOf(q))
	require.True(t, refusal.Is(err, refusal.AwaitingApproval), "%v", err)
	_, _, err = b.Approve(large.Token, "maria")
	require.NoError(t, err)
	b.begin(t, large.Token, echoOf(q)).Confirm(1, time.Now())

	// The limits became tighter: it needs a person now, also after another restart.
	require.NoError(t, b.Revive(tighter.Token, r, true))
	_, err = b.Begin(tighter.Token, echoOf(r))
	require.True(t, refusal.Is(err, refusal.AwaitingApproval), "%v", err)
	ended()
	b, _ = journaled(t, path)
	require.NoError(t, b.Revive(tighter.Token, r, false))
	_, err = b.Begin(tighter.Token, echoOf(r))
	require.True(t, refusal.Is(err, refusal.AwaitingApproval), "%v", err)
}

// The same preview after a restart joins the plan and makes it whole.
func TestJournalPlanIsJoined(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	b, ended := journaled(t, path)
	p := previewed(payload("DELETE FROM app.t WHERE (id = $1)", "1"))
	made := b.create(t, p, true)
	ended()
	b, _ = journaled(t, path)
	joined, was, err := b.Create(p, true)
	require.NoError(t, err)
	require.True(t, was)
	require.Equal(t, made.Token, joined.Token)
	require.Equal(t, p.Payload, joined.Payload)
	require.Len(t, b.List(), 1)
}

func TestJournalMigrationIsPreviewedAgain(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	b, ended := journaled(t, path)
	p := previewed(payload("DROP TABLE app.t"))
	p.Facts = &plan.Facts{Drops: []plan.Drop{{Type: "table", Name: "app.t"}}}
	open := b.create(t, p, true)
	q := previewed(payload("DROP TABLE app.u"))
	q.Facts = &plan.Facts{}
	running := b.create(t, q, true)
	_, _, err := b.Approve(running.Token, "maria")
	require.NoError(t, err)
	b.begin(t, running.Token, echoOf(q))
	ended()
	b, _ = journaled(t, path)
	_, err = b.Begin(open.Token, echoOf(p))
	require.True(t, refusal.Is(err, refusal.ExpiredToken), "%v", err)
	b.Settle(running.Token, false, 0, time.Now())
	_, err = b.Begin(running.Token, echoOf(q))
	require.True(t, refusal.Is(err, refusal.ExpiredToken), "%v", err)
}

// Neither statement nor params nor anybody's words are in the file.
func TestJournalHoldsNoWords(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	b, _ := journaled(t, path)
	p := previewed(payload("DELETE FROM app.t WHERE (secretcolumn = $1)", `"secretvalue"`))
	p.Reason, p.Why = "secretreason", "secretwhy"
	p.SampleRows = []plan.Row{{{Column: "secretcolumn", Value: json.RawMessage(`"secretvalue"`)}}}
	p.Warnings = []plan.Warning{{Code: plan.WarnSideEffects, Message: "secretwarning"}}
	token := b.create(t, p, true).Token
	_, _, err := b.Reject(token, "secretname", "secretno")
	require.NoError(t, err)
	token = b.create(t, p, true).Token
	_, _, err = b.Approve(token, "secretname")
	require.NoError(t, err)
	b.begin(t, token, echoOf(p)).Stop("ROWSET_CHANGED", "secretmessage")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), token)
	require.NotContains(t, string(data), "secret")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// Cut around every line's end and all along the lines: what is whole is read, what is torn is cut off, and no plan ever stands further
// on than its last whole line.
func TestJournalTornAnywhere(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	b, ended := journaled(t, path)
	p := previewed(payload("DELETE FROM app.t WHERE (id = $1)", "1"))
	token := b.create(t, p, true).Token
	_, _, err := b.Approve(token, "maria")
	require.NoError(t, err)
	x := b.begin(t, token, echoOf(p))
	require.NoError(t, x.Committing(plan.Mark{Identity: "7/1"}))
	x.Confirm(1, time.Now())
	ended()
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	states := []plan.State{"", "", plan.AwaitingApproval, plan.AwaitingApproval, plan.Unknown, plan.Unknown, plan.Executed}
	require.Equal(t, len(states), bytes.Count(whole, []byte("\n")))
	torn := journalPath(t)
	for n := range len(whole) + 1 {
		if n%41 != 0 && !bytes.Contains(whole[max(0, n-2):min(len(whole), n+2)], []byte("\n")) {
			continue
		}
		require.NoError(t, os.WriteFile(torn, whole[:n], 0o600))
		j, err := plan.OpenJournal(torn)
		require.NoError(t, err, "cut at %d", n)
		s := plan.NewStore(plan.Options{PlanTTL: planTTL, ApprovalTTL: approvalTTL, MaxOpen: 5, Journal: j})
		got, known := s.Get(token)
		lines := bytes.Count(whole[:n], []byte("\n"))
		require.Equal(t, lines >= 3, known, "cut at %d", n)
		if known {
			require.Equal(t, states[lines-1], got.State, "cut at %d", n)
		}
		// What comes next stands on a line of its own.
		_, _, err = s.Create(previewed(payload("DELETE FROM app.t WHERE (id = $1)", "2")), false)
		require.NoError(t, err)
		s.Close()
		j.Close()
		j, err = plan.OpenJournal(torn)
		require.NoError(t, err, "cut at %d, then written", n)
		j.Close()
	}
}

func TestJournalRefusesWhatItCannotTrust(t *testing.T) {
	t.Parallel()
	header := `{"format":"sw-postgres-mcp plan journal","version":1}` + "\n"
	line := func(change string) string {
		return `{"token":"abc","state":"previewed","at":"2026-01-01T00:00:00Z","fingerprint":"f","expires_at":"2026-01-01T00:00:00Z","blast_radius":{"total_rows":0,"tables":null}` + change + "}\n"
	}
	for name, c := range map[string]struct{ content, want string }{
		"another file":        {"hello\n", "is not a plan journal"},
		"another JSON file":   {"{}\n", "is not a plan journal"},
		"another version":     {`{"format":"sw-postgres-mcp plan journal","version":3}` + "\n", "version 3"},
		"damaged in between":  {header + line("") + "{\"token\":\n" + line(""), "damaged at line 3"},
		"zeros":               {header + "\x00\x00\x00\x00\n", "damaged at line 2"},
		"unknown key":         {header + line(`,"approved":true`), "damaged at line 2"},
		"unknown state":       {header + strings.Replace(line(""), "previewed", "ready", 1), `no such state: "ready"`},
		"no token":            {header + strings.Replace(line(""), `"abc"`, `""`, 1), "no token"},
		"no way back":         {header + strings.Replace(line(""), "previewed", "executing", 1), "no such state to go back to"},
		"no fingerprint":      {header + strings.Replace(line(""), `"f"`, `""`, 1), "lacks its fingerprint"},
		"two values in a row": {header + strings.TrimSuffix(line(""), "\n") + line(""), "more than one value"},
		"too long":            {header + strings.Repeat("x", 5<<20) + "\n", "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := journalPath(t)
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			_, err := plan.OpenJournal(path)
			require.ErrorContains(t, err, c.want)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, c.content, string(after), "a file that was refused was changed")
		})
	}
	t.Run("readable by others", func(t *testing.T) {
		t.Parallel()
		path := journalPath(t)
		require.NoError(t, os.WriteFile(path, []byte(header), 0o600))
		require.NoError(t, os.Chmod(path, 0o644))
		_, err := plan.OpenJournal(path)
		require.ErrorContains(t, err, "make it 0600")
	})
	t.Run("a link", func(t *testing.T) {
		t.Parallel()
		path := journalPath(t)
		require.NoError(t, os.WriteFile(path+".real", []byte(header), 0o600))
		require.NoError(t, os.Symlink(path+".real", path))
		_, err := plan.OpenJournal(path)
		require.Error(t, err)
	})
	t.Run("a directory", func(t *testing.T) {
		t.Parallel()
		_, err := plan.OpenJournal(t.TempDir())
		require.Error(t, err)
	})
	t.Run("no directory", func(t *testing.T) {
		t.Parallel()
		_, err := plan.OpenJournal(filepath.Join(t.TempDir(), "missing", "plans.jsonl"))
		require.Error(t, err)
	})
}

// Two of them never share a file: in one process, in two, and not after the first has compacted it.
func TestJournalBelongsToOne(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("SW_TEST_JOURNAL"); path != "" {
		_, err := plan.OpenJournal(path)
		require.ErrorContains(t, err, "another process uses the journal")
		return
	}
	path := journalPath(t)
	_, ended := journaled(t, path)
	_, err := plan.OpenJournal(path)
	require.ErrorContains(t, err, "another process uses the journal")
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestJournalBelongsToOne$", "-test.v")
	other.Env = append(os.Environ(), "SW_TEST_JOURNAL="+path)
	out, err := other.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS")
	ended()
	_, _ = journaled(t, path)
}

// The file stays small, and loses nothing that is remembered.
func TestJournalIsCompacted(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	b, ended := journaled(t, path)
	first := previewed(payload("DELETE FROM app.t WHERE (id = $1)", "0"))
	open := b.create(t, first, false)
	last := plan.Token("")
	for i := range 150 {
		p := previewed(payload("DELETE FROM app.t WHERE (id = $1)", fmt.Sprint(i+1)))
		last = b.create(t, p, false).Token
		b.begin(t, last, echoOf(p)).Confirm(1, time.Now())
	}
	before, err := os.Stat(path)
	require.NoError(t, err)
	ended()
	b, _ = journaled(t, path)
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, after.Size(), before.Size()/2)
	_, err = b.Begin(last, plan.Echo{})
	require.True(t, refusal.Is(err, refusal.UsedToken), "%v", err)
	_, ok := b.Dormant(open.Token, echoOf(first))
	require.True(t, ok)
	left, err := filepath.Glob(path + ".new-*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// What cannot be written down does not happen; what happened stays so.
func TestJournalThatFails(t *testing.T) {
	t.Parallel()
	j, err := plan.OpenJournal(journalPath(t))
	require.NoError(t, err)
	var told []error
	b := setup(t, func(o *plan.Options) {
		o.Journal = j
		o.OnJournalError = func(err error) { told = append(told, err) }
	})
	p, q, r := previewed(payload("DELETE FROM a", "1")), previewed(payload("DELETE FROM b", "1")), previewed(payload("DELETE FROM c", "1"))
	ready, waiting, running := b.create(t, p, false), b.create(t, q, true), b.create(t, r, false)
	x := b.begin(t, running.Token, echoOf(r))
	j.Close() // every write fails from now on
	_, _, err = b.Create(previewed(payload("DELETE FROM d", "1")), false)
	require.ErrorIs(t, err, plan.ErrJournal)
	_, _, err = b.Create(p, false) // joining moves the expiry, which has to be on disk too
	require.ErrorIs(t, err, plan.ErrJournal)
	_, _, err = b.Approve(waiting.Token, "maria")
	require.ErrorIs(t, err, plan.ErrJournal)
	_, err = b.Begin(ready.Token, echoOf(p))
	require.ErrorIs(t, err, plan.ErrJournal)
	require.ErrorIs(t, x.Committing(plan.Mark{}), plan.ErrJournal)
	for token, want := range map[plan.Token]plan.State{ready.Token: plan.Previewed, waiting.Token: plan.AwaitingApproval, running.Token: plan.Executing} {
		got, _ := b.Get(token)
		require.Equal(t, want, got.State)
	}
	require.Len(t, b.List(), 3)
	require.Empty(t, told)
	x.Confirm(1, time.Now())
	got, _ := b.Get(running.Token)
	require.Equal(t, plan.Executed, got.State)
	require.Len(t, told, 1)
	_, _, err = b.Reject(waiting.Token, "maria", "no") // a no is never lost
	require.NoError(t, err)
	got, _ = b.Get(waiting.Token)
	require.Equal(t, plan.Rejected, got.State)
	require.Len(t, told, 2)
}

package mutants

const (
	core  = "./internal/writecore"
	store = "./internal/writecore/plan"
	asks  = "./internal/ask"
	whole = "./tests"
)

// fault is one line that is wrong.
type fault struct {
	property string // S01–S22, or "gate: …" for a gate of a plan
	what     string // what is wrong now
	file     string // from the root
	old, new string // old stands in the file exactly once
	pkg      string // where the test is
	catcher  string // the test that is named for it
}

// faults are written by hand: one at least for each property of the safety case and each gate of a plan.
var faults = []fault{
	{"S01", "a preview ends in COMMIT", "internal/writecore/build.go", "s := []wire.Segment{{rollback}, {forget}}", "s := []wire.Segment{{commit}, {forget}}", whole, "TestS01PreviewLeavesNoTrace"},
	{"S01", "a preview leaves its session as the statement made it", "internal/writecore/build.go", "s := []wire.Segment{{rollback}, {forget}}", "s := []wire.Segment{{rollback}}", core, "TestNothingOfAPreviewStays"},
	{"S02", "the guard lets a second statement pass", "internal/sqlguard/parse.go", "\tcase 1:\n\tdefault:\n\t\treturn nil, \"\", nil, multi()", "\tdefault:", "./internal/sqlguard", "TestReadCorpus"},
	{"S02", "a migration may be any kind of statement", "internal/sqlguard/migration.go", "\tif err := d.form(node); err != nil {\n", "\tif err := d.form(node); err != nil && line == \"\" {\n", whole, "TestS02NothingCommitsExceptThroughExecutePlan"},
	{"S03", "the fingerprint leaves the params out", "internal/writecore/plan/fingerprint.go", "\t\tpart(h, canonical)\n", "\t\t_ = canonical\n", whole, "TestS03ParamsAreComparedExactly"},
	{"S03", "what is given back is not compared", "internal/writecore/plan/gates.go", "func (e *echo) match(p *Plan) error {\n", "func (e *echo) match(p *Plan) error {\n\tif p != nil {\n\t\treturn nil\n\t}\n", whole, "TestS03WhatCommitsIsWhatWasPreviewed"},
	{"S04", "the digest is not compared", "internal/writecore/execute.go", "now := digestOf(pr); now != wk.digest {", "now := digestOf(pr); now == \"\" {", core, "TestS04TheRowsAreThoseThatWereApproved"},
	{"S04", "the rows are not locked", "internal/writecore/build.go", `forUpdate = " FOR UPDATE"`, `forUpdate = ""`, core, "TestLostUpdate"},
	{"S04", "the blast radius is not compared", "internal/writecore/execute.go", `diff := p.BlastRadius.Difference(t.radius); diff != ""`, `diff := p.BlastRadius.Difference(t.radius); diff == "never"`, core, "TestS04TheRowsAreThoseThatWereApproved"},
	{"S04", "no snapshot where the condition reads elsewhere", "internal/writecore/preview.go", " || st.ReadsElsewhere()", "", core, "TestS04TheConditionReadsElsewhere"},
	{"S04", "a migration may lose more rows than approved", "internal/writecore/execute.go", "return t, w.compareMigration(p, sc, reply)", "return t, nil", core, "TestS04AMigrationLosesNoMoreThanWasApproved"},
	{"S04", "what makes the values is not compared", "internal/writecore/execute.go", `diff := plan.DefinitionsDifference(p.Definitions, t.made); diff != ""`, `diff := plan.DefinitionsDifference(p.Definitions, t.made); diff == "never"`, core, "TestS04TheValuesAreMadeAsApproved"},
	{"S04", "a trigger's function may be another", "internal/writecore/sql/behaviour.sql", "pg_catalog.pg_get_functiondef(p.oid)", "NULL::text", core, "TestS04TheValuesAreMadeAsApproved"},
	{"S04", "the snapshot is older than the lock", "internal/writecore/execute.go", "if first {", "if first && p.Token == \"\" {", core, "TestS04DefinitionsUnderASnapshot"},
	{"S04", "what the snapshot is too old for is not read again", "internal/writecore/look.go", "if len(t.unseen) == 0 {", "if len(t.unseen) < 1000 {", core, "TestS04DefinitionsUnderASnapshot"},
	{"S04", "what cannot be read again is committed", "internal/writecore/look.go", "\tif reply.Err != nil {\n\t\treturn w.explainFailure(", "\tif reply.Err != nil {\n\t\treturn nil\n\t\treturn w.explainFailure(", core, "TestS04WhatCannotBeLookedAtIsNotCommitted"},
	{"S04", "functions are looked at before the run only", "internal/writecore/execute.go", "len(f) > 0 {", "len(f) > 1000 {", core, "TestS04AFunctionIsReplacedMeanwhile"},
	{"S04", "a function that the text names may be another", "internal/wire/sql/version_function.sql", "pg_catalog.pg_get_functiondef(p.oid)", "''", core, "TestS04TheValuesAreMadeAsApproved"},
	{"S04", "a new reason for not knowing is no difference", "internal/writecore/plan/radius.go", "if !slices.Contains(approved.Unknown, reason) {", "if false {", core, "TestS04TheRadiusIsAsUnknownAsApproved"},
	{"S05", "the threshold sees only what RETURNING counts", "internal/writecore/limits.go", "rows := max(m.AffectedRows, m.Radius.TotalRows)", "rows := m.AffectedRows", core, "TestS05ThresholdsSeeEveryChangedRow"},
	{"S05", "what is deferred is not run before counting", "internal/writecore/build.go", "for range immediateRounds {", "for range 0 {", core, "TestS05ThresholdsSeeEveryChangedRow"},
	{"S05", "an effect that cannot be counted asks nobody", "internal/writecore/limits.go", "if len(m.Radius.Unknown) > 0 {", "if false {", core, "TestS05ThresholdsSeeEveryChangedRow"},
	{"S05", "a volatile function asks nobody", "internal/writecore/limits.go", "if len(m.Volatile) > 0 {", "if false {", core, "TestS05ThresholdsSeeEveryChangedRow"},
	{"S06", "no hard cap behind the run", "internal/writecore/limits.go", "if rows > l.HardMax {", "if false {", core, "TestDecideTable"},
	{"S06", "no hard cap at the probe", "internal/writecore/build.go", "CASE WHEN pg_catalog.count(*) > %d THEN ('%scap'", "CASE WHEN pg_catalog.count(*) > %d AND false THEN ('%scap'", core, "TestS06TheCapCostsAProbe"},
	{"S07", "who needs a person needs none", "internal/writecore/preview.go", "p, joined, err := w.o.Store.Create(pv, needs)", "p, joined, err := w.o.Store.Create(pv, false)", whole, "TestS07OnlyAPersonCanApprove"},
	{"S07", "without a page nobody is needed", "internal/writecore/preview.go", "if needs && url == \"\" && (req.Reaches == nil || !req.Reaches(pv)) {", "needs = needs && url != \"\"\n\tif false {", core, "TestNoApprovalSurface"},
	{"S07", "through the client: any value of approve is a yes", "internal/ask/answer.go", "case f.Name == \"approve\" && string(f.Value) == \"true\":", "case f.Name == \"approve\":", asks, "TestOnlyAYesIsAYes"},
	{"S07", "through the client: the typed number is not compared", "internal/ask/answer.go", "case said.Typed != \"\" && !said.Accepts(typed):", "case false:", asks, "TestOnlyAYesIsAYes"},
	{"S07", "through the client: whatever was sent off is a yes", "internal/ask/answer.go", "\tcase \"decline\":\n\t\treturn declined\n", "\tcase \"decline\":\n\t\treturn judgeForm(content, said)\n", whole, "TestElicitationOnlyAYesCommits"},
	{"S07", "through the client: an answer counts after its time", "internal/ask/desk.go", "inTime = h.waits()\n\th.open = \"\"", "inTime = true\n\th.open = \"\"", asks, "TestAnAnswerCountsOnceAndInItsTime"},
	{"S07", "through the client: the rows are not looked at again", "internal/ask/turn.go", "if err := t.d.o.Reviewer.Recheck(ctx, p.Token); err != nil {", "if err := t.d.o.Reviewer.Recheck(ctx, p.Token); false {", asks, "TestAYesLooksAtTheRowsAgain"},
	{"S07", "through the client: the capability is not checked", "internal/mcpserver/elicit.go", "\tcase c == nil || version < firstElicitation:\n\t\treturn ask.Nothing\n", "\tcase c == nil || version < firstElicitation:\n\t\treturn ask.Form\n", whole, "TestElicitationCapability"},
	{"S07", "through the client: what is the page's alone is asked", "internal/ask/desk.go", "return p.Facts != nil || p.Tool == \"run_migration\" || total(p) > d.o.PageOnlyAbove || len(p.BlastRadius.Unknown) > 0", "return len(p.BlastRadius.Unknown) > 0", whole, "TestElicitationPageOnly"},
	{"S08", "a rejection changes nothing", "internal/writecore/plan/decide.go", "s.move(e, Rejected, EventRejected)", "_ = 0", whole, "TestS08ARejectionIsFinal"},
	{"S08", "a rejection is not remembered", "internal/writecore/plan/ended.go", "\t\th.remember(p.Fingerprint, &d)\n", "", store, "TestEarlierRejection"},
	{"S09", "a plan is not taken by who begins it", "internal/writecore/plan/execution.go", "if err := s.advance(e, Executing, EventExecuting, nil); err != nil {", "if err := error(nil); err != nil {", core, "TestS09ATokenWorksOnce"},
	{"S09", "the ledger takes a token twice", "docker/init/02_audit.sql", "CREATE UNIQUE INDEX IF NOT EXISTS log_executed_once", "CREATE INDEX IF NOT EXISTS log_executed_once", core, "TestTheDatabaseRefusesASecondCommit"},
	{"S09", "the token is not locked", "internal/writecore/execute.go", "\tsc.Add(\"lock\", tokenKey(p.Token))\n", "", core, "TestOnlyOneMayHoldAToken"},
	{"S10", "nothing is ever due", "internal/writecore/plan/gates.go", "return !now.Before(p.ExpiresAt) || !now.Round(0).Before(p.ExpiresAt.Round(0))", "return false", whole, "TestS10ALateApprovalDoesNothing"},
	{"S11", "reads are not READ ONLY", "internal/postgres/readflush.go", "READ COMMITTED READ ONLY", "READ COMMITTED READ WRITE", "./internal/postgres", "TestS11GrammarIsAWall"},
	{"S12", "the second witness is not asked", "internal/postgres/readflush.go", "\tf.Add(\"witness\", wire.Witness(closure, f.mark, false))\n", "", "./internal/postgres", "TestS12SecondWitness"},
	{"S12", "the read allowlist allows everything", "internal/sqlguard/allowlist.go", "\tif neverReadable(schema, name) {\n\t\treturn false\n\t}\n\tif g.policy", "\tif true {\n\t\treturn true\n\t}\n\tif g.policy", whole, "TestS12TheReadAllowlistHolds"},
	{"S13", "the write allowlist allows everything", "internal/sqlguard/allowlist.go", "return !neverWritableSchema(schema) && g.policy.Write.Allows(schema, name)", "return true", whole, "TestS13TheWriteAllowlistHolds"},
	{"S01", "a BEGIN that opens nothing is believed", "internal/writecore/build.go", "\tsc.Add(\"open\", step(\"SAVEPOINT sw_open\"))\n\tsc.Add(\"open\", step(\"RELEASE SAVEPOINT sw_open\"))\n", "", whole, "TestFieldC43AProxyForbidsBegin"},
	{"S12", "resources are there without describe_schema", "internal/tools/resources.go", "shown, _ := d.Policy.Shows(\"describe_schema\"); !shown", "shown, _ := d.Policy.Shows(\"describe_schema\"); false && !shown", "./internal/tools", "TestResourcesAndPromptsObeyThePolicy"},
	{"S21", "any number of resources is read at once", "internal/mcpserver/resources.go", "const resourcesAtOnce = 32", "const resourcesAtOnce = 1 << 20", "./internal/mcpserver", "TestS21TooManyResources"},
	{"mask", "a masked column may stand in an expression", "internal/sqlguard/mask_walk.go", "\t\tif column, row := w.refers(n); column || row {\n\t\t\tw.deny(where(row))\n\t\t}\n", "", whole, "TestMaskedColumnsStayHidden"},
	{"mask", "a masked output goes out as it is", "internal/postgres/query.go", "\trow = q.masked(row)\n", "", whole, "TestMaskedAnswers"},
	{"mask", "the server's word on the output is not asked", "internal/postgres/mask.go", "if o == sqlguard.OutputMasked && out[i] == \"\" ||", "if false ||", "./internal/postgres", "TestMaskedOutputsNeedTheServersWord"},
	{"mask", "rows as JSON are what the person sees", "internal/writecore/plan/types.go", "\t\tif f.Masked != nil {\n", "\t\tif false {\n", whole, "TestMaskedWrites"},
	{"mask", "what triggers say is passed on", "internal/wire/refuse.go", "\t\te = Masked(e)\n", "\t\t_ = 0\n", whole, "TestMaskedWrites"},
	{"mask", "a mask without its column masks nothing", "internal/sqlguard/mask_walk.go", "if len(m.Broken) > 0 {", "if false {", "./internal/sqlguard", "TestMaskedRelations"},
	{"mask", "a masked column may be renamed", "internal/sqlguard/migration.go", "if err := g.covered(d, v, node); err != nil {", "if err := error(nil); err != nil {", whole, "TestMigrationsDoNotUncover"},
	{"mask", "what functions read of masked tables passes", "internal/sqlguard/scope.go", "if g.masks.on() && !s.Any {", "if false {", whole, "TestAllowedFunctionsAreWatched"},
	{"S14", "COMMIT's tag is not looked at", "internal/writecore/commit.go", `ok && c.Tag == "COMMIT" && reply.TxStatus == 'I'`, `ok && c.Tag != "never"`, core, "TestCommitAnsweredByRollback"},
	{"S14", "the executed row is not in the transaction", "internal/writecore/commit.go", "Status: audit.Executed, Duration: time.Since(started), CallerID: w.o.CallerID, BlastRadius: radiusJSON(t.radius),", "Status: audit.Failed, Duration: time.Since(started), CallerID: w.o.CallerID, BlastRadius: radiusJSON(t.radius),", whole, "TestS14TheAuditRowCommitsWithTheChange"},
	{"S14", "a failed row is shrugged off where it is required", "internal/writecore/commit.go", "\tif w.o.AuditRequired {\n", "\tif false {\n", whole, "TestS14AFailedAuditRow"},
	{"S14", "a lost answer is taken for a commit", "internal/writecore/reconcile.go", "\t\tcase absent:\n\t\t\tex.Fail()\n\t\t\treturn Outcome{}, notCommitted(mark)\n", "\t\tcase absent:\n\t\t\treturn w.done(ctx, nil, ex, t, started), nil\n", core, "TestS14ALostAnswerIsLookedUp"},
	{"S14", "another server's ledger is believed", "internal/writecore/reconcile.go", `mark.Identity != "" && identityOf(id) != mark.Identity`, `mark.Identity == "never" && identityOf(id) == ""`, core, "TestS14AnotherServerIsNotBelieved"},
	{"S15", "values are recorded", "internal/audit/audit.go", "\tout := make([]shape, 0, len(params))\n", "\tif raw, err := json.Marshal(params); err == nil {\n\t\treturn raw\n\t}\n\tout := make([]shape, 0, len(params))\n", whole, "TestS15NoValueIsRecorded"},
	{"S15", "the writer may change the log", "docker/init/02_audit.sql", "GRANT INSERT ON TABLE mcp_audit.log TO writer;", "GRANT ALL ON TABLE mcp_audit.log TO writer; ALTER TABLE mcp_audit.log DISABLE TRIGGER log_append_only;", whole, "TestS15TheAuditTableOnlyGrows"},
	{"S16", "another host's requests get in", "internal/approvalui/gates.go", "\tif !s.ownHost(r.Host) {\n\t\treturn false\n\t}\n", "", "./internal/approvalui", "TestS16GateMatrix"},
	{"S16", "any secret is right", "internal/approvalui/gates.go", "return subtle.ConstantTimeCompare(a[:], b[:]) == 1", "return subtle.ConstantTimeCompare(a[:], b[:]) >= 0", "./internal/approvalui", "TestS16GateMatrix"},
	{"S17", "a client that left is committed for", "internal/writecore/execute.go", "\tif err := ctx.Err(); err != nil {\n\t\tw.undo(s)\n", "\tif err := ctx.Err(); false {\n\t\tw.undo(s)\n", core, "TestS17ALeavingClientCommitsNothing"},
	{"S18", "a read leaves its advisory locks", "internal/postgres/readflush.go", "{SQL: \"SELECT pg_catalog.pg_advisory_unlock_all()\"}", "{SQL: \"SELECT 1\"}", "./internal/postgres", "TestS11GrammarIsAWall"},
	{"S19", "messages for people go to stdout", "cmd/sw-postgres-mcp/serve.go", `fmt.Fprintf(r.err, "sw-postgres-mcp: "`, `fmt.Fprintf(r.out, "sw-postgres-mcp: "`, whole, "TestS19StdoutIsJSONRPCOnly"},
	{"S20", "passwords in messages are not masked", "internal/postgres/connstring.go", "func Redact(s string) string {\n", "func Redact(s string) string {\n\tif s != \"\" {\n\t\treturn s\n\t}\n", "./internal/postgres", "TestRedact"},
	{"S21", "executes on a snapshot take every connection", "internal/writecore/writecore.go", "max(1, o.Connections-1)", "max(1, o.Connections)", core, "TestSnapshotsLeaveAConnection"},
	{"S21", "any number of calls may wait", "internal/writecore/execute.go", "\tdefault:\n\t\treturn refusal.New(refusal.TooManyWaiting,", "\tcase <-make(chan struct{}):\n\t\treturn refusal.New(refusal.TooManyWaiting,", whole, "TestS21WaitingIsBounded"},
	{"S21", "any number of plans may be open", "internal/writecore/plan/store.go", "if open >= s.o.MaxOpen {", "if false {", store, "TestTooManyPlans"},
	{"S22", "an unknown key is overlooked", "internal/config/load.go", "\t\treturn fmt.Errorf(\"unknown key %q\", key)\n", "\t\treturn nil\n", "./internal/config", "TestS22LoudAboutMistakes"},
	{"gate", "an unknown token passes", "internal/writecore/plan/gates.go", "\tif !known {\n", "\tif !known && p.Token == \"never\" {\n", store, "TestGatesInOrder"},
	{"gate", "a plan that was replaced passes", "internal/writecore/plan/gates.go", "\tcase Superseded:\n\t\treturn refusal.New(refusal.SupersededPlan,", "\tcase Superseded:\n\t\treturn refusal.New(refusal.UnknownToken,", store, "TestGatesInOrder"},
	{"gate", "a plan that was executed passes", "internal/writecore/plan/gates.go", "\tcase Executed:\n\t\trows := \"\"\n", "\tcase Executed:\n\t\trows := \"\"\n\t\tif p.Token != \"never\" {\n\t\t\tbreak\n\t\t}\n", store, "TestGatesInOrder"},
	{"gate", "a plan whose outcome is unknown passes", "internal/writecore/plan/gates.go", "\tcase Unknown:\n\t\treturn outcomeUnknown(p)\n", "\tcase Unknown:\n", store, "TestGatesInOrder"},
	{"gate", "a plan that is executing passes", "internal/writecore/plan/gates.go", "\tcase Executing:\n\t\treturn refusal.New(refusal.AlreadyExecuting,", "\tcase Executing:\n\t\tif p.Token != \"never\" {\n\t\t\tbreak\n\t\t}\n\t\treturn refusal.New(refusal.AlreadyExecuting,", store, "TestGatesInOrder"},
	{"gate", "a plan that was stopped passes", "internal/writecore/plan/gates.go", "\tcase Stopped:\n\t\treturn stopped(p)\n", "\tcase Stopped:\n", store, "TestGatesInOrder"},
	{"gate", "a plan that a person has not decided about passes", "internal/writecore/plan/gates.go", "\tif p.State == AwaitingApproval {\n", "\tif false {\n", store, "TestEveryCell"},
	{"gate", "a plan without its statement passes after a restart", "internal/writecore/plan/gates.go", "\tif p.Restored {\n\t\treturn restored(given)\n\t}\n", "\tif p.Restored {\n\t\treturn nil\n\t}\n", store, "TestJournalRevivesAPlan"},
	{"journal", "an approval is carried over a restart", "internal/writecore/plan/restore.go", "\tif s == Approved {\n\t\treturn AwaitingApproval\n", "\tif s == Approved {\n\t\treturn Approved\n", store, "TestJournalReplaysEveryState"},
	{"journal", "nothing waits for the disk", "internal/writecore/plan/restore.go", "{ return s.put(true, records...) }", "{ return s.put(false, records...) }", store, "TestJournalIsOnDiskFirst"},
	{"journal", "the file's name is not on disk", "internal/writecore/plan/journal.go", "if err := j.syncDir(filepath.Dir(j.path)); err != nil {", "if err := error(nil); err != nil {", store, "TestJournalIsOnDiskFirst"},
	{"journal", "a failed fsync is tried again", "internal/writecore/plan/journal.go", "\t\t\tj.broken = fmt.Errorf(\"%w: %w\", ErrJournal, err)\n\t\t\treturn j.broken\n\t\t}\n\t\tj.synced = end", "\t\t\treturn fmt.Errorf(\"%w: %w\", ErrJournal, err)\n\t\t}\n\t\tj.synced = end", store, "TestJournalSyncThatFails"},
	{"journal", "a line's sum is not looked at", "internal/writecore/plan/journal_lines.go", "if string(line[len(body):]) != string(sumOf(body)) {", "if len(line) < sumLen {", store, "TestJournalTornTails"},
	{"journal", "damage is taken for a torn end", "internal/writecore/plan/journal_lines.go", "case l.Synced > j.size:", "case l.Synced < 0:", store, "TestJournalTornTails"},
	{"journal", "a rejection is written down once or never", "internal/writecore/plan/restore.go", "\ts.unwritten = append(slices.DeleteFunc(s.unwritten, func(o record) bool { return o.Token == r.Token }), r)\n", "", store, "TestJournalOwes"},
	{"journal", "what cannot be written down happens", "internal/writecore/plan/store.go", "\tif err := s.write(recordOf(e, &next, s.o.Now())); err != nil {\n\t\treturn err\n\t}\n\te.plan = next\n\ts.show", "\tif err := s.write(recordOf(e, &next, s.o.Now())); err != nil {\n\t\t_ = err\n\t}\n\te.plan = next\n\ts.show", store, "TestJournalThatFails"},
	{"S04", "a preview of other definitions joins", "internal/writecore/plan/store.go", `DefinitionsDifference(open.Definitions, p.Definitions) == "" && `, "", store, "TestReplacing"},
	{"journal", "what makes the values is forgotten", "internal/writecore/plan/restore.go", "p.RowsDigest, p.Definitions, p.AffectedRows = r.Tool, r.Target, r.Digest, r.Definitions, r.AffectedRows", "p.RowsDigest, p.AffectedRows = r.Tool, r.Target, r.Digest, r.AffectedRows", core, "TestJournalBindsTheDefinitions"},
	{"journal", "a statement is not checked again", "internal/sqlguard/again.go", "\tif s.sql != line || len(s.params) != len(params) {\n", "\tif s.sql != line && line == \"never\" {\n", "./internal/sqlguard", "TestAgainRefusesOtherText"},
	{"journal", "today's limits are not asked", "internal/writecore/revive.go", "\tif d.Refusal != nil {\n\t\treturn d.Refusal\n\t}\n", "", core, "TestJournalRevivesUnderTodaysLimits"},
}

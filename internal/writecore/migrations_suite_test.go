package writecore_test

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

var (
	//go:embed testdata/migrations_world.sql
	migrationsWorldSQL string
	//go:embed testdata/migrations_see.sql
	migrationsSeeSQL string
)

// migrationCase is one statement and everything that is expected of it. Lists are sorted, with "; " in
// between.
type migrationCase struct {
	sql string
	// code is the refusal, and says a part of its message or hint; the rest is for what is taken.
	code refusal.Code
	says string
	// open reads everything, else app and app2 alone are readable, and the function app.touch is allowed.
	open bool
	// since and until are the first and the last major version of Postgres that it is for, 0 for any.
	since, until int

	targets  string // "w" changed or dropped, "c" new, "r" only pointed to, "t" a type: "w app.t; r app.u"
	locks    string // the strongest per relation: "app.t AccessExclusive" (manual, 13.3 and ALTER TABLE)
	rewrites string // with indexes
	scans    string
	drops    string // "table app.t"
	lost     string // "app.t.old 30"
	warnings string // codes
	after    string // an SQL condition that is false before and true afterwards
}

// TestMigrationSuite tries every case on a world of its own: what is refused is refused with that code, and
// what is taken is previewed with these facts and no trace, changes what it should when it is approved, and
// works once. Whether there is a trace, and whether something has changed, pg_dump must see as the snapshot
// does.
func TestMigrationSuite(t *testing.T) {
	t.Parallel()
	cases := slices.Concat(tableCases, alterCases, objectCases, refusedMigrationCases)
	require.GreaterOrEqual(t, len(cases), 120)
	const groups = 4
	for g := range groups {
		t.Run(strconv.Itoa(g), func(t *testing.T) {
			t.Parallel()
			db := pgtemp.New(t)
			db.Exec(t, "GRANT CREATE ON DATABASE "+db.Name+" TO migrator;"+migrationsSeeSQL)
			s := newSuite(t, db)
			var mine []migrationCase
			for i := g; i < len(cases); i += groups {
				if c := cases[i]; s.major >= c.since && (c.until == 0 || s.major <= c.until) {
					mine = append(mine, c)
				}
			}
			s.reset()
			world := s.previews(mine)
			s = newSuite(t, db) // in which nothing waits for a decision
			for _, c := range mine {
				if c.code == "" && t.Run(c.sql, func(t *testing.T) { s.run(t, c) }) {
					s.shelve(c.sql)
				}
				if len(s.shelved) == 8 {
					s.verdicts(world)
				}
			}
			s.bundle.t = t
			s.verdicts(world)
		})
	}
}

type suite struct {
	*bundle
	major       int
	tight, open *sqlguard.Guard
	shelved     []string // the statements whose worlds are put aside
}

func newSuite(t *testing.T, db *pgtemp.DB) *suite {
	t.Helper()
	s := &suite{}
	s.bundle = setupOn(t, db, "", func(o *writecore.Options) {
		o.Store = plan.NewStore(plan.Options{PlanTTL: 10 * time.Minute, ApprovalTTL: 10 * time.Minute, MaxOpen: 1000})
	})
	n, err := strconv.Atoi(s.one("SELECT current_setting('server_version_num')"))
	require.NoError(t, err)
	s.major = n / 10000
	list, err := sqlguard.ParseAllowlist([]string{"app", "app2"}, nil)
	require.NoError(t, err)
	s.tight = sqlguard.New(sqlguard.Policy{Read: list, Write: list, AllowFunctions: []string{"app.touch"}})
	s.open = sqlguard.New(sqlguard.Policy{Write: list})
	return s
}

// reset makes the world anew.
func (s *suite) reset() {
	s.t.Helper()
	s.db.Exec(s.t, "SET ROLE migrator; SET client_min_messages = warning;"+migrationsWorldSQL)
}

// statement guards a case.
func (s *suite) statement(c migrationCase) (*sqlguard.Statement, error) {
	g := s.tight
	if c.open {
		g = s.open
	}
	return g.Migration(s.ctx, freshly{s.pools.Writer().Catalog()}, c.sql)
}

func (s *suite) preview(c migrationCase) (writecore.Reply, *sqlguard.Statement, error) {
	st, err := s.statement(c)
	if err != nil {
		return writecore.Reply{}, nil, err
	}
	r, err := s.core.Preview(s.ctx, writecore.Request{Tool: "run_migration", Reason: "test", Statement: st, Last: true})
	return r, st, err
}

// previews tries all of them on one world, which pg_dump must find as it was: it returns what that says.
func (s *suite) previews(cases []migrationCase) string {
	s.t.Helper()
	before, dumped := s.snapshot(), s.dump()
	for _, c := range cases {
		_, _, err := s.preview(c)
		if c.code == "" {
			require.NoError(s.t, err, c.sql)
			continue
		}
		s.t.Run(c.sql, func(t *testing.T) {
			message := requireCode(t, err, c.code)
			e, _ := refusal.As(err)
			require.Contains(t, message+" "+e.Hint, c.says)
		})
	}
	require.Empty(s.t, difference(before, s.snapshot()))
	require.Empty(s.t, difference(dumped, s.dump()), "pg_dump")
	return dumped
}

// difference is the first line in which they differ.
func difference(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] + " → " + b[i]
		}
	}
	if len(a) != len(b) {
		return strconv.Itoa(len(a)) + " → " + strconv.Itoa(len(b)) + " lines"
	}
	return ""
}

func (s *suite) snapshot() string { return s.db.Snapshot(s.t, `^c\d_`) }

// dump is "" where there is no pg_dump.
func (s *suite) dump() string {
	s.t.Helper()
	text, _ := s.db.Dump(s.t, "--exclude-schema", "see", "--exclude-schema", "mcp_audit")
	return text
}

// shelve puts the world of a case aside, for pg_dump to see several of them at once.
func (s *suite) shelve(sql string) {
	s.t.Helper()
	for _, schema := range []string{"app", "app2", "hidden"} {
		s.db.Exec(s.t, fmt.Sprintf("ALTER SCHEMA %[2]s RENAME TO c%[1]d_%[2]s", len(s.shelved), schema))
	}
	s.shelved = append(s.shelved, sql)
}

// verdicts asks pg_dump whether the world of each case, all of which a snapshot saw change, has changed.
func (s *suite) verdicts(world string) {
	s.t.Helper()
	if world == "" || len(s.shelved) == 0 {
		return // no pg_dump
	}
	was, now := worlds(world)[""], worlds(s.dump())
	for i, sql := range s.shelved {
		prefix := fmt.Sprintf("c%d_", i)
		require.NotEmpty(s.t, difference(was, now[prefix]), "pg_dump does not see what %s has changed", sql)
		require.Contains(s.t, now[prefix], "CREATE SCHEMA app;", sql)
		for _, schema := range []string{"app", "app2", "hidden"} {
			s.db.Exec(s.t, "SET client_min_messages = warning; DROP SCHEMA "+prefix+schema+" CASCADE")
		}
	}
	s.shelved = nil
}

var (
	worldName = regexp.MustCompile(`\b(c\d_)?(app2?|hidden)\b`)
	settings  = regexp.MustCompile(`(?m)^SET default_.*$`) // stands behind whatever comes before
)

// worlds are the parts of a dump by the world they speak of, in order of their text, the world's prefix left
// out.
func worlds(dump string) map[string]string {
	blocks := map[string][]string{}
	for block := range strings.SplitSeq(dump, "\n--\n-- ") {
		if m := worldName.FindStringSubmatch(block); m != nil {
			blocks[m[1]] = append(blocks[m[1]], settings.ReplaceAllString(worldName.ReplaceAllString(block, "$2"), ""))
		}
	}
	out := map[string]string{}
	for prefix, list := range blocks {
		slices.Sort(list)
		out[prefix] = strings.Join(list, "")
	}
	return out
}

func (s *suite) run(t *testing.T, c migrationCase) {
	s.bundle.t = t
	s.reset()
	before := s.snapshot()
	r, st, err := s.preview(c)
	require.NoError(t, err)
	require.Empty(t, difference(before, s.snapshot()))
	require.Equal(t, c.facts(), seen(st, r), c.sql)

	require.Equal(t, "f", s.one("SELECT coalesce("+c.after+", false)"), "what is expected afterwards is so before")
	s.approve(r)
	_, err = s.execute(r)
	require.NoError(t, err)
	require.Equal(t, "t", s.one("SELECT coalesce("+c.after+", false)"), "not as expected: "+c.after)
	require.NotEmpty(t, difference(before, s.snapshot()), "a snapshot does not see it")
	_, err = s.execute(r)
	requireCode(t, err, refusal.UsedToken)
}

// migrationFacts are those of a case's expectations that a preview answers.
type migrationFacts struct{ Targets, Locks, Rewrites, Scans, Drops, Lost, Warnings string }

func (c migrationCase) facts() migrationFacts {
	return migrationFacts{c.targets, c.locks, c.rewrites, c.scans, c.drops, c.lost, c.warnings}
}

func seen(st *sqlguard.Statement, r writecore.Reply) migrationFacts {
	var out migrationFacts
	d, f := st.DDL(), r.Plan.Facts
	var targets, locks, drops, lost, warnings []string
	for prefix, list := range map[string][]sqlguard.Target{"w ": d.Writes, "c ": d.Creates, "r ": d.Reads, "t ": d.Types} {
		for _, x := range list {
			targets = append(targets, prefix+x.String())
		}
	}
	for _, l := range f.Locks {
		locks = append(locks, l.Relation+" "+strings.TrimSuffix(l.Mode, "Lock"))
	}
	for _, x := range f.Drops {
		drops = append(drops, x.Type+" "+x.Name)
	}
	for _, x := range f.Lost {
		lost = append(lost, x.Relation+"."+x.Column+" "+strconv.FormatInt(x.NonNullValues, 10))
	}
	for _, w := range r.Plan.Warnings {
		warnings = append(warnings, w.Code)
	}
	for to, list := range map[*string][]string{
		&out.Targets: targets, &out.Locks: locks, &out.Rewrites: f.Rewrites, &out.Scans: f.Scans, &out.Drops: drops, &out.Lost: lost, &out.Warnings: warnings,
	} {
		list = slices.Clone(list)
		slices.Sort(list)
		*to = strings.Join(slices.Compact(list), "; ")
	}
	return out
}

// TestASnapshotThatSeesNoChange is the control of the comparison with pg_dump: an untouched world that is put
// aside is the same one.
func TestASnapshotThatSeesNoChange(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "GRANT CREATE ON DATABASE "+db.Name+" TO migrator;"+migrationsSeeSQL)
	s := newSuite(t, db)
	s.reset()
	before, world := s.snapshot(), s.dump()
	s.shelve("nothing")
	require.Equal(t, worlds(world)[""], worlds(s.dump())["c0_"])
	s.reset()
	require.NotEmpty(t, difference(before, s.snapshot()), "it is made of other objects")
}

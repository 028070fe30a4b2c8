package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

var (
	//go:embed cat_relations.sql
	catRelationsText string
	//go:embed cat_candidates.sql
	catCandidatesSQL string
	//go:embed cat_functions.sql
	catFunctionsSQL string
	//go:embed cat_operators.sql
	catOperatorsSQL string
	//go:embed cat_types.sql
	catTypesSQL string
	//go:embed cat_statistics.sql
	catStatisticsSQL string
	//go:embed cat_casts.sql
	catCastsSQL string
)

// catRelationsSQL reads a relation's version in the very query that reads the relation, catMaskedSQL also what
// masks mean for it.
var (
	catRelationsSQL = strings.NewReplacer("{version}", wire.RelationVersion("hit.root"), "{mask}", "''").Replace(catRelationsText)
	catMaskedSQL    = strings.NewReplacer("{version}", wire.RelationVersion("hit.root"), "{mask}", wire.MaskVersion("hit.root", "$3")).Replace(catRelationsText)
)

// relationsStep asks about relations.
func relationsStep(schemas, names []byte, masks string) (sql string, params [][]byte) {
	if masks == "" {
		return catRelationsSQL, [][]byte{schemas, names}
	}
	return catMaskedSQL, [][]byte{schemas, names, []byte(masks)}
}

// catalogTTL is how long an answer may be given again without asking. What was relied upon is asserted in
// the flush that runs the statement, so a stale answer costs a second try and nothing else. That holds
// for functions and types that do not exist too.
const catalogTTL = 30 * time.Second

// missingTTL is the same for relations that do not exist, which nothing asserts. The guard asks afresh
// before it says so to anybody.
const missingTTL = 5 * time.Second

// maxCached bounds the names remembered per kind.
const maxCached = 5000

// catalog implements [sqlguard.Catalog] for one pool.
type catalog struct {
	pool  *Pool
	now   func() time.Time
	masks string // see Options.Masks

	mu        sync.Mutex
	relations cache[*sqlguard.Relation] // nil: there is none
	functions cache[routines]           // by bare name
	operators cache[routines]           // by symbol
	types     cache[routines]
	settings  cache[settings]
}

// routines are what a name means, and the version of it. exists tells a type without functions from none;
// self, parts and oids are a type's.
type routines struct {
	list    []sqlguard.Routine
	self    sqlguard.Target
	parts   []sqlguard.Target
	oids    []uint32
	version string
	exists  bool
}

type settings struct {
	version     int
	path        []string
	pathVersion string // of the casts too
	casts       []sqlguard.Cast
}

func newCatalog(p *Pool) *catalog { return &catalog{pool: p, now: time.Now, masks: p.db.masks} }

type cache[T any] map[sqlguard.Name]cached[T]

type cached[T any] struct {
	value T
	until time.Time
}

// split takes what is known out of names and returns the rest, without duplicates.
func (c cache[T]) split(names []sqlguard.Name, now time.Time, fresh bool) (known map[sqlguard.Name]T, rest []sqlguard.Name) {
	known = make(map[sqlguard.Name]T, len(names))
	asked := map[sqlguard.Name]bool{}
	for _, n := range names {
		if e, ok := c[n]; ok && !fresh && now.Before(e.until) {
			known[n] = e.value
		} else if !asked[n] {
			asked[n] = true
			rest = append(rest, n)
		}
	}
	return known, rest
}

func (c *cache[T]) put(n sqlguard.Name, v T, until time.Time) {
	if *c == nil || len(*c) >= maxCached {
		*c = cache[T]{}
	}
	(*c)[n] = cached[T]{value: v, until: until}
}

// forget drops everything, after Postgres contradicted it.
func (c *catalog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relations, c.functions, c.operators, c.types, c.settings = nil, nil, nil, nil, nil
}

// bare are the names without their schemas.
func bare(list []sqlguard.Name) []sqlguard.Name {
	out := make([]sqlguard.Name, len(list))
	for i, n := range list {
		out[i] = sqlguard.Name{Name: n.Name}
	}
	return out
}

// Lookup implements [sqlguard.Catalog]. Everything not cached is asked in one round trip and read in one
// snapshot, the versions with it.
func (c *catalog) Lookup(ctx context.Context, q sqlguard.Lookup, fresh bool) (*sqlguard.Facts, error) {
	now := c.now()
	a := answer{}
	c.mu.Lock()
	a.relations, a.needRelations = c.relations.split(q.Relations, now, fresh)
	a.functions, a.needFunctions = c.functions.split(bare(q.Functions), now, fresh)
	a.operators, a.needOperators = c.operators.split(bare(q.Operators), now, fresh)
	a.types, a.needTypes = c.types.split(q.Types, now, fresh)
	a.needStatistics = q.Statistics
	a.settings, a.needSettings = c.settings.split([]sqlguard.Name{{}}, now, fresh)
	c.mu.Unlock()
	if !a.complete() {
		f := a.questions(c.masks)
		if err := c.ask(ctx, f); err != nil {
			return nil, err
		}
		c.mu.Lock()
		moved := c.moved(&a)
		if moved {
			c.relations, c.functions, c.operators, c.types = nil, nil, nil, nil
		}
		c.remember(&a, now)
		c.mu.Unlock()
		if moved && !fresh {
			return c.Lookup(ctx, q, true)
		}
	}
	return a.facts(q), nil
}

// answer is what is known for one Lookup, and what is still to be asked.
type answer struct {
	relations                   map[sqlguard.Name]*sqlguard.Relation
	functions, operators, types map[sqlguard.Name]routines
	settings                    map[sqlguard.Name]settings
	candidates                  []sqlguard.Name
	statistics                  map[sqlguard.Name]sqlguard.Statistics

	needRelations, needFunctions, needOperators, needTypes, needSettings, needStatistics []sqlguard.Name
}

func (a *answer) complete() bool {
	return len(a.needRelations)+len(a.needFunctions)+len(a.needOperators)+len(a.needTypes)+len(a.needSettings)+len(a.needStatistics) == 0
}

// questions are the statements that ask for what is needed. The settings always come along: they are
// cheap, and what "by search_path" meant belongs to the answer.
func (a *answer) questions(masks string) *catalogFlush {
	f := &catalogFlush{}
	set := a.settings[sqlguard.Name{}]
	f.step("SELECT pg_catalog.current_setting('server_version_num'), pg_catalog.array_to_json(pg_catalog.current_schemas(true))",
		nil, func(rows [][][]byte) error {
			var err error
			if set.version, err = strconv.Atoi(string(rows[0][0])); err != nil {
				return err
			}
			set.path = nil
			return json.Unmarshal(rows[0][1], &set.path)
		})
	if len(a.needSettings) > 0 { // else what is known is right for as long as the path's version is
		f.step(catCastsSQL, nil, func(rows [][][]byte) error {
			set.casts = nil
			for _, row := range rows {
				var c sqlguard.Cast
				if err := json.Unmarshal(row[0], &c); err != nil {
					return err
				}
				set.casts = append(set.casts, c)
			}
			return nil
		})
	}
	if len(a.needRelations) > 0 {
		schemas, names := columns(a.needRelations)
		sql, params := relationsStep(schemas, names, masks)
		f.step(sql, params, func(rows [][][]byte) error {
			for _, n := range a.needRelations {
				a.relations[n] = nil
			}
			return each(rows, a.needRelations, func(n sqlguard.Name, r sqlguard.Relation) { a.relations[n] = &r })
		})
		f.step(catCandidatesSQL, [][]byte{schemas, names}, func(rows [][][]byte) error {
			for _, row := range rows {
				a.candidates = append(a.candidates, sqlguard.Name{Schema: string(row[0]), Name: string(row[1])})
			}
			return nil
		})
	}
	if need := a.needFunctions; len(need) > 0 {
		_, names := columns(need)
		f.step(catFunctionsSQL, [][]byte{names}, overloads(need, a.functions))
	}
	if need := a.needOperators; len(need) > 0 {
		_, names := columns(need)
		f.step(catOperatorsSQL, [][]byte{names}, overloads(need, a.operators))
	}
	if need := a.needTypes; len(need) > 0 {
		schemas, names := columns(need)
		f.step(catTypesSQL, [][]byte{schemas, names}, func(rows [][][]byte) error {
			for _, n := range need {
				a.types[n] = routines{}
			}
			type found struct {
				Self     sqlguard.Target
				Routines []sqlguard.Routine
				Parts    []sqlguard.Target
				OIDs     []uint32
			}
			return each(rows, need, func(n sqlguard.Name, t found) {
				a.types[n] = routines{self: t.Self, list: t.Routines, parts: t.Parts, oids: t.OIDs, exists: true}
			})
		})
	}
	if need := a.needStatistics; len(need) > 0 {
		schemas, names := columns(need)
		a.statistics = map[sqlguard.Name]sqlguard.Statistics{}
		f.step(catStatisticsSQL, [][]byte{schemas, names}, func(rows [][][]byte) error {
			return each(rows, need, func(n sqlguard.Name, s sqlguard.Statistics) { a.statistics[n] = s })
		})
	}
	a.versions(f, &set)
	return f
}

// overloads reads rows of one routine each.
func overloads(need []sqlguard.Name, into map[sqlguard.Name]routines) func([][][]byte) error {
	return func(rows [][][]byte) error {
		for _, n := range need {
			into[n] = routines{}
		}
		return each(rows, need, func(n sqlguard.Name, r sqlguard.Routine) {
			into[n] = routines{list: append(into[n].list, r), exists: true}
		})
	}
}

// versions asks for the versions of the names; those of relations came with them. It is the last step.
func (a *answer) versions(f *catalogFlush, set *settings) {
	keys := []wire.Fact{{Kind: wire.FactPath}}
	put := []func(string){func(v string) {
		set.pathVersion = v
		a.settings[sqlguard.Name{}] = *set
	}}
	want := func(kind byte, need []sqlguard.Name, into map[sqlguard.Name]routines) {
		for _, n := range need {
			keys = append(keys, wire.Fact{Kind: kind, Key: n.Name})
			put = append(put, func(v string) {
				r := into[n]
				r.version = v
				into[n] = r
			})
		}
	}
	want(wire.FactFunction, a.needFunctions, a.functions)
	want(wire.FactOperator, a.needOperators, a.operators)
	want(wire.FactType, a.needTypes, a.types)
	step := wire.ReadFacts(keys)
	f.step(step.SQL, step.Params, func(rows [][][]byte) error {
		facts := wire.FactsOf(wire.Result{Rows: rows})
		if len(facts) != len(keys) {
			return fmt.Errorf("%d versions for %d names", len(facts), len(keys))
		}
		for i, fact := range facts {
			put[i](fact.Version)
		}
		return nil
	})
}

// moved tells whether the search path is not the one under which the rest was remembered.
func (c *catalog) moved(a *answer) bool {
	before, ok := c.settings[sqlguard.Name{}]
	return ok && before.value.pathVersion != a.settings[sqlguard.Name{}].pathVersion
}

// remember keeps what was asked.
func (c *catalog) remember(a *answer, now time.Time) {
	for _, n := range a.needRelations {
		ttl := catalogTTL
		if a.relations[n] == nil {
			ttl = missingTTL
		}
		c.relations.put(n, a.relations[n], now.Add(ttl))
	}
	keep := func(to *cache[routines], need []sqlguard.Name, from map[sqlguard.Name]routines) {
		for _, n := range need {
			to.put(n, from[n], now.Add(catalogTTL))
		}
	}
	keep(&c.functions, a.needFunctions, a.functions)
	keep(&c.operators, a.needOperators, a.operators)
	keep(&c.types, a.needTypes, a.types)
	c.settings.put(sqlguard.Name{}, a.settings[sqlguard.Name{}], now.Add(catalogTTL))
}

// facts puts the answer into the guard's words.
func (a *answer) facts(q sqlguard.Lookup) *sqlguard.Facts {
	set := a.settings[sqlguard.Name{}]
	facts := &sqlguard.Facts{
		ServerVersion: set.version, SearchPath: set.path, PathVersion: set.pathVersion, Candidates: a.candidates, Casts: set.casts,
		Relations: map[sqlguard.Name]sqlguard.Relation{}, Functions: map[sqlguard.Name][]sqlguard.Routine{},
		Operators: map[sqlguard.Name][]sqlguard.Routine{}, Types: map[sqlguard.Name][]sqlguard.Routine{},
		FunctionVersions: map[string]string{}, OperatorVersions: map[string]string{}, TypeVersions: map[sqlguard.Name]string{},
		TypeParts: map[sqlguard.Name][]sqlguard.Target{}, TypeOIDs: map[sqlguard.Name][]uint32{},
		TypeTargets: map[sqlguard.Name]sqlguard.Target{}, Statistics: a.statistics,
	}
	for n, r := range a.relations {
		if r != nil {
			facts.Relations[n] = *r
		}
	}
	for _, n := range q.Functions {
		known := a.functions[sqlguard.Name{Name: n.Name}]
		facts.FunctionVersions[n.Name] = known.version
		for _, r := range known.list {
			if n.Schema == "" && r.OnPath || n.Schema != "" && r.Schema == n.Schema {
				facts.Functions[n] = append(facts.Functions[n], r)
			}
		}
	}
	for _, n := range q.Operators {
		known := a.operators[sqlguard.Name{Name: n.Name}]
		facts.OperatorVersions[n.Name] = known.version
		if known.exists {
			facts.Operators[n] = known.list
		}
	}
	for n, known := range a.types {
		facts.TypeVersions[n] = known.version
		if known.exists {
			facts.Types[n], facts.TypeParts[n], facts.TypeOIDs[n], facts.TypeTargets[n] = known.list, known.parts, known.oids, known.self
		}
	}
	return facts
}

// catalogFlush pairs statements with what reads their rows.
type catalogFlush struct {
	steps wire.Segment
	take  []func(rows [][][]byte) error
}

func (f *catalogFlush) step(sql string, params [][]byte, take func(rows [][][]byte) error) {
	f.steps = append(f.steps, wire.Step{SQL: sql, Params: params})
	f.take = append(f.take, take)
}

func (c *catalog) ask(ctx context.Context, f *catalogFlush) error {
	replies, err := c.pool.read(ctx, func(s *Session) ([]wire.Reply, error) {
		bounded, cancel := context.WithTimeout(ctx, catalogPatience)
		defer cancel()
		head := wire.Segment{
			{SQL: "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"}, // one snapshot
			{SQL: catalogTimeouts},
		}
		return s.Flush(bounded, append(head, f.steps...), wire.Segment{{SQL: "ROLLBACK"}})
	})
	if err != nil {
		return err
	}
	if e := replies[0].Err; e != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("asking the catalog: %w", ctx.Err())
		}
		if r := wire.Refuse(e, wire.RefuseOptions{Fallback: refusal.QueryFailed}); r.Code != refusal.QueryFailed {
			return r
		}
		return fmt.Errorf("asking the catalog: %w", e)
	}
	for i, take := range f.take {
		if err := take(replies[0].Results[i+2].Rows); err != nil {
			return fmt.Errorf("reading the catalog's answer: %w", err)
		}
	}
	return nil
}

// catalogTimeouts bound the look-up itself: pg_get_viewdef waits for locks on the view.
const catalogTimeouts = "SELECT pg_catalog.set_config('statement_timeout', '10000', true), " +
	"pg_catalog.set_config('lock_timeout', '3000', true), pg_catalog.set_config('jit', 'off', true), " +
	"pg_catalog.set_config('idle_in_transaction_session_timeout', '10000', true)"

// catalogPatience is for a server that does not answer at all; its own timeouts come first.
const catalogPatience = 15 * time.Second

// each decodes rows of (position, JSON) and hands each to take with the name of that position.
func each[T any](rows [][][]byte, names []sqlguard.Name, take func(sqlguard.Name, T)) error {
	for _, row := range rows {
		i, err := strconv.Atoi(string(row[0]))
		if err != nil || i < 1 || i > len(names) {
			return fmt.Errorf("position %q is not one of %d", row[0], len(names))
		}
		var v T
		if err := json.Unmarshal(row[1], &v); err != nil {
			return err
		}
		take(names[i-1], v)
	}
	return nil
}

// columns renders names as two text[] literals.
func columns(list []sqlguard.Name) (schemas, names []byte) {
	s, n := make([]string, len(list)), make([]string, len(list))
	for i, name := range list {
		s[i], n[i] = name.Schema, name.Name
	}
	return wire.TextArray(s), wire.TextArray(n)
}

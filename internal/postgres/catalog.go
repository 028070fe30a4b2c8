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
	catRelationsSQL string
	//go:embed cat_candidates.sql
	catCandidatesSQL string
	//go:embed cat_functions.sql
	catFunctionsSQL string
	//go:embed cat_operators.sql
	catOperatorsSQL string
	//go:embed cat_types.sql
	catTypesSQL string
)

// catalogTTL is how long an answer may be given again without asking. What was relied upon is
// asserted in the flush that runs the statement, so a stale answer costs a second try and nothing else.
const catalogTTL = 30 * time.Second

// maxCached bounds the names remembered per kind.
const maxCached = 5000

// catalog implements [sqlguard.Catalog] for one pool. Names that do not exist are not remembered:
// what was just created is found at once.
type catalog struct {
	pool *Pool
	now  func() time.Time

	mu        sync.Mutex
	relations cache[sqlguard.Relation]
	functions cache[[]sqlguard.Routine]
	operators cache[[]sqlguard.Routine]
	types     cache[[]sqlguard.Routine]
	settings  cache[settings]
}

type settings struct {
	version int
	path    []string
}

func newCatalog(p *Pool) *catalog { return &catalog{pool: p, now: time.Now} }

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

// Lookup implements [sqlguard.Catalog]. Everything not cached is asked in one round trip.
func (c *catalog) Lookup(ctx context.Context, q sqlguard.Lookup, fresh bool) (*sqlguard.Facts, error) {
	now := c.now()
	c.mu.Lock()
	relations, needRel := c.relations.split(q.Relations, now, fresh)
	functions, needFun := c.functions.split(q.Functions, now, fresh)
	operators, needOp := c.operators.split(q.Operators, now, fresh)
	types, needTyp := c.types.split(q.Types, now, fresh)
	set, needSet := c.settings.split([]sqlguard.Name{{}}, now, fresh)
	c.mu.Unlock()

	facts := &sqlguard.Facts{Relations: relations, Functions: functions, Operators: operators, Types: types}
	if s, ok := set[sqlguard.Name{}]; ok {
		facts.ServerVersion, facts.SearchPath = s.version, s.path
	}
	if len(needRel)+len(needFun)+len(needOp)+len(needTyp)+len(needSet) == 0 {
		return facts, nil
	}

	f := catalogFlush{}
	f.step("SELECT pg_catalog.current_setting('server_version_num'), pg_catalog.array_to_json(pg_catalog.current_schemas(true))",
		nil, func(rows [][][]byte) error {
			s := settings{}
			var err error
			if s.version, err = strconv.Atoi(string(rows[0][0])); err != nil {
				return err
			}
			if err := json.Unmarshal(rows[0][1], &s.path); err != nil {
				return err
			}
			facts.ServerVersion, facts.SearchPath = s.version, s.path
			c.settings.put(sqlguard.Name{}, s, now.Add(catalogTTL))
			return nil
		})
	if len(needRel) > 0 {
		schemas, names := columns(needRel)
		f.step(catRelationsSQL, [][]byte{schemas, names}, func(rows [][][]byte) error {
			return each(rows, needRel, func(n sqlguard.Name, r sqlguard.Relation) {
				facts.Relations[n] = r
				c.relations.put(n, r, now.Add(catalogTTL))
			})
		})
		f.step(catCandidatesSQL, [][]byte{schemas, names}, func(rows [][][]byte) error {
			for _, row := range rows {
				facts.Candidates = append(facts.Candidates, sqlguard.Name{Schema: string(row[0]), Name: string(row[1])})
			}
			return nil
		})
	}
	routines := func(sql string, params [][]byte, need []sqlguard.Name, into map[sqlguard.Name][]sqlguard.Routine, keep *cache[[]sqlguard.Routine]) {
		if len(need) == 0 {
			return
		}
		f.step(sql, params, func(rows [][][]byte) error {
			got := map[sqlguard.Name][]sqlguard.Routine{}
			err := each(rows, need, func(n sqlguard.Name, r sqlguard.Routine) { got[n] = append(got[n], r) })
			for n, list := range got {
				into[n] = list
				keep.put(n, list, now.Add(catalogTTL))
			}
			return err
		})
	}
	schemas, names := columns(needFun)
	routines(catFunctionsSQL, [][]byte{schemas, names}, needFun, functions, &c.functions)
	_, names = columns(needOp)
	routines(catOperatorsSQL, [][]byte{names}, needOp, operators, &c.operators)
	if len(needTyp) > 0 {
		schemas, names := columns(needTyp)
		f.step(catTypesSQL, [][]byte{schemas, names}, func(rows [][][]byte) error {
			return each(rows, needTyp, func(n sqlguard.Name, list []sqlguard.Routine) {
				facts.Types[n] = list
				c.types.put(n, list, now.Add(catalogTTL))
			})
		})
	}
	if err := c.ask(ctx, &f); err != nil {
		return nil, err
	}
	return facts, nil
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
			{SQL: "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY"},
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
	c.mu.Lock()
	defer c.mu.Unlock()
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
	return textArray(s), textArray(n)
}

var arrayEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// textArray renders strings as an array literal.
func textArray(list []string) []byte {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = arrayEscape.WriteString(&b, v)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return []byte(b.String())
}

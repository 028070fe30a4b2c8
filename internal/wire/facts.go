package wire

import (
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// ErrStaleCatalog says that what the guard relied upon is not what Postgres found: a fact differs, or
// a relation was touched that the guard did not see. Everything was rolled back. The caller looks the
// catalog up afresh, guards the text again, and tries once more.
var ErrStaleCatalog = errors.New("the catalog changed since the statement was checked")

// FirstUserOID is FirstNormalObjectId of access/transam.h: what has a lower OID was made by initdb
// and does not change.
const FirstUserOID = 16384

// The kinds of facts.
const (
	FactRelation = 'r' // Key is the OID: name, columns, key, row security, partitions, and of a view its rules and the functions in them
	FactFunction = 'f' // Key is a bare name: every function (and type, since f(x) may be a cast) of that name that is not Postgres' own, in any schema
	FactOperator = 'o' // Key is a symbol: every operator of it that is not Postgres' own, and its function
	FactType     = 't' // Key is a bare name: every type of that name, and the functions a cast to it may run
	FactMask     = 'm' // Key is an OID, a blank and the masks as JSON: which of that relation's columns are masked, as JSON (sql/version_mask.sql)
	FactPath     = 'p' // Key is empty: the schemas in which unqualified names are looked up, and the casts that are not Postgres' own
)

// Fact is something of the catalog that a judgement relied upon. Version is a hash of what matters of
// it, empty where there is nothing of that key: that a name has no meaning is a fact too.
type Fact struct {
	Kind         byte
	Key, Version string
}

var (
	//go:embed sql/witness.sql
	witnessSQL string
	//go:embed sql/facts_read.sql
	factsReadSQL string
	//go:embed sql/facts_assert.sql
	factsAssertSQL string

	//go:embed sql/version_relation.sql
	versionRelation string
	//go:embed sql/version_function.sql
	versionFunction string
	//go:embed sql/version_operator.sql
	versionOperator string
	//go:embed sql/version_type.sql
	versionType string
	//go:embed sql/version_path.sql
	versionPath string
	//go:embed sql/version_mask.sql
	versionMask string
)

// versions are the scalar queries behind Version, one per kind; {key} is the key in question. There is
// no second text that computes a version: what is read and what is asserted is the same expression.
var versions = []struct {
	kind byte
	sql  string
}{
	{FactRelation, versionRelation},
	{FactFunction, versionFunction},
	{FactOperator, versionOperator},
	{FactType, versionType},
	{FactPath, versionPath},
	{FactMask, versionMask},
}

// RelationVersion is the SQL expression of a relation's Version, NULL where there is none, for a
// query that looks the relation up in the same snapshot. oid is an SQL expression of type oid that uses
// no name of one letter (those are in use).
func RelationVersion(oid string) string {
	return "(" + strings.ReplaceAll(versionRelation, "{key}", oid) + ")"
}

// MaskVersion is the SQL expression of a relation's FactMask, for a query that looks the relation up in the
// same snapshot. oid is an SQL expression of type oid, masks one of type text.
func MaskVersion(oid, masks string) string {
	return "(" + strings.ReplaceAll(versionMask, "{key}", oid+"::pg_catalog.text || ' ' || "+masks+"::pg_catalog.text") + ")"
}

// branches are the cases for the kinds in use. Others are left out, since planning costs more than
// running here.
func branches(facts []Fact) string {
	var b strings.Builder
	for _, v := range versions {
		used := false
		for _, f := range facts {
			used = used || f.Kind == v.kind
		}
		if !used {
			continue
		}
		key := "w.key"
		if v.kind == FactRelation {
			key = "w.key::pg_catalog.oid"
		}
		b.WriteString(" WHEN '" + string(rune(v.kind)) + "' THEN (" + strings.ReplaceAll(v.sql, "{key}", key) + ")")
	}
	if b.Len() == 0 {
		return " WHEN '' THEN NULL"
	}
	return b.String()
}

func columnsOf(facts []Fact) (kinds, keys, versions []byte) {
	k, n, v := make([]string, len(facts)), make([]string, len(facts)), make([]string, len(facts))
	for i, f := range facts {
		k[i], n[i], v[i] = string(rune(f.Kind)), f.Key, f.Version
	}
	return TextArray(k), TextArray(n), TextArray(v)
}

// ReadFacts reads the versions of the given kinds and keys; what they hold as Version is ignored.
// [FactsOf] takes the result.
func ReadFacts(keys []Fact) Step {
	kinds, names, _ := columnsOf(keys)
	return Step{SQL: strings.ReplaceAll(factsReadSQL, "{branches}", branches(keys)), Params: [][]byte{kinds, names}}
}

// FactsOf turns the result of [ReadFacts] into facts, in the order of its keys.
func FactsOf(r Result) []Fact {
	out := make([]Fact, 0, len(r.Rows))
	for _, row := range r.Rows {
		if len(row) == 3 && len(row[0]) == 1 {
			out = append(out, Fact{Kind: row[0][0], Key: string(row[1]), Version: string(row[2])})
		}
	}
	return out
}

// WithoutPartitions are facts that hold whichever partitions a partitioned table has, for a statement that was
// checked and seen before: what may be written is the root, its partitions with it, and rows that come, go or
// land elsewhere are compared as such. Not for what is asked of the planner's locks, where each partition
// must be known. See TestPartitionsComeAndGo.
func WithoutPartitions(facts []Fact) []Fact {
	out := slices.Clone(facts)
	for i, f := range out {
		if before, _, ok := strings.Cut(f.Version, "."); ok && f.Kind == FactRelation {
			out[i].Version = before + "."
		}
	}
	return out
}

// AssertFacts fails with mark and "kind key" of the first fact that is no longer true.
//
// It belongs behind the step that made Postgres resolve the names ([Step.ParseOnly]) and before the
// first that plans or runs anything: by then the relations are locked and cannot be redefined. It also
// belongs behind the first [Witness], since it leaves locks on system catalogs, and before a change of
// role, since the search path may hold "$user". See TestStaleViewIsNotRun.
func AssertFacts(facts []Fact, mark string) Step {
	kinds, names, versions := columnsOf(facts)
	return Step{
		SQL:    strings.ReplaceAll(factsAssertSQL, "{branches}", branches(facts)),
		Params: [][]byte{kinds, names, versions, []byte(mark)},
	}
}

// Witness fails with mark and their names when this backend holds locks on relations that are not in
// closure. It is the second witness of what a text names: behind a [Step.ParseOnly] of it the locks are
// exactly what name resolution found; behind its planning there may also be what STABLE functions read,
// behind its run what any function read. An index of a table in closure passes (one made since the
// guard looked reaches nothing new), any other index does not. passSystem lets Postgres' own relations
// pass, which functions of pg_catalog read while running. See TestWitness.
func Witness(closure []uint32, mark string, passSystem bool) Step {
	return Step{SQL: witnessSQL, Params: [][]byte{OIDArray(closure), []byte(mark), strconv.AppendBool(nil, passSystem)}}
}

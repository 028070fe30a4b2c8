package sqlguard

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// constants are conditions that hold for every row of public.customers, with their params.
var constants = map[string][]json.RawMessage{
	"true": nil, "TRUE": nil, "(true)": nil, "((true))": nil, "'t'": nil, "'true'::bool": nil, "'yes'": nil, "1::bool": nil,
	"not false": nil, "not not true": nil, "1=1": nil, "1 = 1.0": nil, "1 < 2": nil, "2 >= 2": nil, "1 <> 2": nil, "'a'='a'": nil,
	"'a' <> 'b'": nil, "-1 < 0": nil, "true or id = 5": nil, "id = 5 or 1=1": nil, "true and true": nil, "1 = '1'": nil,
	"1::int = 1::bigint": nil, "'a'::text = 'a'": nil, "1::pg_catalog.int4 = 1": nil,
	"id = id": nil, "customers.id = id": nil, "public.customers.id = public.customers.id": nil, "id >= id": nil, "id <= id": nil, "not id <> id": nil,
	"id is not null": nil, "not id is null": nil, "id is not distinct from id": nil, "email is not distinct from email": nil,
	"1 is not distinct from 1": nil, "null is not distinct from null": nil, "created_at = created_at": nil, "name = name": nil,
	"email is null or email is not null": nil, "email is not null or id = 7 or email is null": nil,
	"active or not active": nil, "not active or active": nil, "active is not unknown": nil, "true is true": nil, "null is null": nil,
	"null is unknown": nil, "(1=2) is false": nil, "(1=2) is not true": nil, "null::text is null": nil,
	"1 in (1, 2)": nil, "id in (id)": nil, "id in (id, 5)": nil, "1 not in (2, 3)": nil, "'a' in ('b', 'a')": nil,
	"1 between 0 and 2": nil, "id between id and id": nil, "name like '%'": nil, "name ilike '%%'": nil,
	"exists (select 1)": nil, "exists (select)": nil, "exists (select 1, 'x', null)": nil,
	"'' = ''": nil, "true = true": nil, "true <> false": nil, "/* */ true -- x": nil, "not (1=2) and 3>2": nil,
	"coalesce(true)": nil, "coalesce(true, false)": nil, "coalesce(null, true)": nil, "coalesce(id, 1) is not null": nil, "coalesce(id) = id": nil, "coalesce(id = id, false)": nil,
	"coalesce(email, '') is not null": nil, "coalesce(email, name) is not null": nil, "nullif(true, false)": nil, "nullif(1, 2) = 1": nil, "greatest(true, false)": nil, "least(true, true)": nil, "greatest(1, 2) = 2": nil, "least(null, 3) = 3": nil,
	"'a' like 'a'": nil, "'a' like '%'": nil, "'a' ilike 'a'": nil, "'a' not like 'b'": nil, "name ~ ''": nil, "name ~ '.*'": nil, "name ~* '^'": nil, "name ~~ '%'": nil, "name like '%%%'": nil, "status like '%' and name like '%'": nil, "not (name not like '%')": nil,
	"2 not between 3 and 4": nil, "1 between symmetric 1 and 1": nil, "not (5 between 6 and 7)": nil, "(id = id) is true": nil, "(id = id) is not null": nil, "(id=id) = (id=id)": nil, "(1=1) in (true)": nil, "(id = id) is distinct from false": nil,
	"id is distinct from null": nil, "1 is distinct from 2": nil, "true is distinct from false": nil, "null is distinct from 1": nil, "not id is distinct from id": nil,
	"case when true then true end": nil, "case when true then true else false end": nil, "case when id = id then true end": nil, "case 1 when 1 then true end": nil, "case when id = 1 then true else true end": nil, "case when false then false else true end": nil, "case when null then false else true end": nil, "case 2 when 1 then false else true end": nil,
	"(select true)": nil, "(select 1) = 1": nil, "(select 1=1)": nil, "exists (values (1))": nil, "exists (select 1 where true)": nil, "not exists (select 1 where false)": nil, "true in (select true)": nil, "1 in (select 1)": nil, "1 = any (select 1)": nil, "1 >= all (select 1)": nil, "(select id) = id": nil, "(values (true))": nil,
	"1 = any (array[1])": nil, "id = any (array[id])": nil, "id = any (array[id, 5])": nil, "1 = all (array[1])": nil, "1 <> all (array[2])": nil, "'a' = any (array['a'])": nil, "id = all (array[id])": nil, "id = some (array[id])": nil,
	"row(1) = row(1)": nil, "(1, 2) = (1, 2)": nil, "(id, name) = (id, name)": nil, "row(id, name) is not null": nil, "(id, id) >= (id, id)": nil, "row(id) is not distinct from row(id)": nil, "(1, 2) <> (1, 3)": nil,
	"1 + 1 = 2": nil, "2 * 2 = 4": nil, "3 - 2 > 0": nil, "'a' || 'b' = 'ab'": nil, "tags is null or tags is not null": nil, "data is null or data is not null": nil, "id::text is not null": nil, "id::numeric is not null": nil, "id::text = id::text": nil, "created_at::date = created_at::date": nil, "date '2024-01-01' = date '2024-01-01'": nil, "'1 day'::interval >= '1 day'::interval": nil, "'2024-01-01'::date is not null": nil,
	"current_user = current_user": nil, "current_user is not null": nil, "current_date = current_date": nil, "current_timestamp <= current_timestamp": nil, "localtime is not null": nil,
	"ctid is not null": nil, "ctid = ctid": nil, "tableoid = tableoid": nil, "xmin = xmin": nil, "customers.ctid is not null": nil,
	"1 operator(pg_catalog.=) 1": nil, "id operator(pg_catalog.=) id": nil, "name collate \"C\" = name": nil, "name = name collate \"C\"": nil,
	"active is true or active is false": nil, "active or active is false": nil, "active is true or not active": nil, "(active is true) is not null": nil, "(email is null) is not null": nil, "(email is distinct from name) is not null": nil,
	"id > 5 or not id > 5": nil, "id > 5 or id <= 5": nil, "id = 5 or id <> 5": nil, "name = '' or name <> ''": nil, "id = 1 or id != 1": nil, "id >= 1 or email = 'x' or id < 1": nil, "not (id < 1) or id < 1": nil,
	"id is not null or id = 5": nil, "(id = 5 and true) or true": nil, "1 in (1)": nil, "not (1 in (2))": nil, "'y'": nil, "bool 'true'": nil, "cast(1 as bool)": nil, "true > false": nil, "not 'f'": nil, "null is not true": nil,
	"coalesce($1, true)":           raws("true"),
	"coalesce($1, 1) = 1":          raws("null"),
	"id = coalesce($1, id)":        raws("null"),
	"name ilike '%' || $1 || '%'":  raws(`""`),
	"name like $1":                 raws(`"%"`),
	"$1 like 'x'":                  raws(`"x"`),
	"$1 is distinct from 'a'":      raws("null"),
	"$1 = $1":                      raws("5"),
	"$1":                           raws("true"),
	"($1)":                         raws("1"),
	"$1::bool":                     raws(`"t"`),
	"$1 = 1":                       raws("1"),
	"$1 = $2":                      raws(`"a"`, `"a"`),
	"1 = 1 and $1 = $1":            raws(`"x"`),
	"$1::text is not null":         raws(`"x"`),
	"$1::text is null or id = $1":  raws("null"),
	"($1 is null) or (status =$1)": raws("null"),
}

func TestConstantTrue(t *testing.T) {
	t.Parallel()
	for where, params := range constants {
		_, err := openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: "customers", Where: where, Params: params})
		require.Error(t, err, where)
		r, _ := refusal.As(err)
		require.Equal(t, refusal.NoWhereClause, r.Code, where)
	}
}

// A verdict may be wrong; what the agent wrote stays in the statement, with its params.
func TestConfirmedConditionStays(t *testing.T) {
	t.Parallel()
	cat := newFake()
	for where, params := range constants {
		if strings.Contains(where, "--") {
			continue
		}
		s, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: where, Params: params, ConfirmFullTable: true})
		require.NoError(t, err, where)
		require.Equal(t, "DELETE FROM public.customers WHERE "+where, s.SQL())
		require.Equal(t, where, s.Where())
		require.Len(t, s.Params(), len(params))
		u, err := openGuard().Update(context.Background(), cat, UpdateSpec{
			Table: "customers", Where: where, Params: params, ConfirmFullTable: true, SetExpressions: []SetExpr{{"name", "'x'"}},
		})
		require.NoError(t, err, where)
		require.Equal(t, "UPDATE public.customers SET name = 'x' WHERE "+where, u.SQL())
		require.Len(t, u.Params(), len(params))
	}
	s, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: " -- none", ConfirmFullTable: true})
	require.NoError(t, err)
	require.Equal(t, "DELETE FROM public.customers", s.SQL())
}

// Conditions that can be false or null for some row, or of which it is not sure that they cannot: they
// are never called constant.
func TestNeverConstant(t *testing.T) {
	t.Parallel()
	for where, params := range map[string][]json.RawMessage{
		"false": nil, "null": nil, "1=2": nil, "1 > 2": nil, "not true": nil, "email = email": nil, "email is not null": nil, "email like '%'": nil,
		"id = tenant_id": nil, "id <> id": nil, "id > 5 or id < 5": nil, "active": nil, "not active": nil, "true and id = 1": nil, "id = 1": nil,
		"email > 'a' or email <= 'a'": nil, "random() = random()": nil, "touch(id) = touch(id)": nil, "exists (select 1 from orders)": nil,
		"exists (select 1 where false)": nil, "exists (select 1 limit 0)": nil, "exists (select 1 offset 1)": nil,
		"'a' < 'B'": nil, "case when id = 1 then true end": nil, "exists (select 1 having false)": nil,
		"case when id = 1 then true else false end": nil, "name like 'a%'": nil, "name not like '%'": nil, "orders.id = orders.id": nil,
		"1 not in (1, 2)": nil, "id not in (id)": nil, "row(id, email) is not null": nil, "1e400 = 1e400 and id = 1": nil,
		"'1' = '1.0'": nil, "null = null": nil, "null or id = 1": nil, "name like ''": nil, "name like '%%' escape '%'": nil,
		"active is true": nil, "active is unknown": nil, "email is null or last_login is not null": nil, "active or not (id = 1)": nil,
		"(not active) is null": nil, "not (email is not distinct from email)": nil, "email is distinct from email": nil,
		// An empty range has no upper bound, an empty array no elements.
		"upper(period) is not null": nil, "upper(period) = upper(period)": nil, "lower(period) = lower(period)": nil, "lower(name) = lower(name)": nil,
		"exists (select unnest(tags))": nil, "exists (select jsonb_array_elements(data))": nil, "exists (select generate_series(1, 0))": nil,
		"exists (select regexp_match(name, 'x'))": nil, "exists (select unnest(array[]::int[]))": nil, "exists (select id)": nil,
		// A function of the database's own, an operator of another schema.
		"app.abs(id) is not null": nil, "abs(id) is not null": nil, "app.lower(name) = app.lower(name)": nil, "coalesce(app.abs(id), null) is not null": nil,
		"id operator(app.=) id": nil,
		// Composite values: IS NOT NULL asks for every field.
		"pair is not null": nil, "pair is null or pair is not null": nil, "customers is not null": nil, "customers is null or customers is not null": nil,
		"customers.* is not null": nil, "(pair).a is not null": nil, "row(1, null) is not null": nil, "(select customers) is not null": nil,
		"pair = pair": nil, "limited = limited": nil, "limited is not null": nil, "period = period": nil,
		// Other types than the literal's own.
		"16777217::float4 = 16777217": nil, "16777217::real = 16777217::int": nil, "0.1::float4 = 0.1": nil, "9007199254740993::float8 = 9007199254740993": nil,
		"'a'::char(1) = 'a'": nil, "1.5::int = 1.5": nil, "'1'::app.mood = '1'": nil, "'a'::varchar(0) = 'a'": nil, "1::app.int4 = 1": nil,
		"'abc'::text collate \"C\" = 'ABC'": nil, "16777217 in (16777217, 1::float4)": nil, "0.1 in (0.1, 1::float4)": nil, "'1' in ('1', 2.5)": nil,
		"'(1,)'::app.pair is not null": nil, "'empty'::tstzrange = 'empty'": nil, "1 = '1.0'": nil, "'x'::bpchar = 'x '": nil,
		// Near kin of what is constant.
		"coalesce(email, null) is not null": nil, "coalesce(false, true)": nil, "coalesce(active, true)": nil, "coalesce(app.abs(id), 1) is not null": nil, "coalesce(email, name) = name": nil,
		"coalesce(16777217, ratio) = 16777217": nil, "coalesce(id, ratio) = id": nil, "nullif(true, true)": nil, "nullif(id, 5) = id": nil, "greatest(false)": nil, "greatest(id, 1) = id": nil, "least(true, false)": nil,
		"'a' like 'b'": nil, "'a' like 'A'": nil, "name like name": nil, "name like '_%'": nil, "email ~ ''": nil, "name ~ 'a*b'": nil, "name !~ ''": nil, "'a' not like 'a'": nil, "5 not between 5 and 6": nil, "id between 1 and id": nil,
		"id is distinct from 1": nil, "id is distinct from id": nil, "email is distinct from null": nil, "case when id = 1 then true when id = 2 then true end": nil, "case when true then false else true end": nil,
		"case id when 1 then true else null end": nil, "case when active then true else id = 1 end": nil, "(select false)": nil, "(select true where id = 1)": nil, "(select true from orders)": nil, "(select true limit 0)": nil,
		"exists (select 1 where id = 1)": nil, "exists (values (generate_series(1, 0)))": nil, "exists (select 1 group by ())": nil, "1 = any (select 2)": nil, "1 = any (array[2])": nil, "id = any (array[email])": nil,
		"email = any (array[email])": nil, "id <> any (array[id])": nil, "id = all (array[id, 5])": nil, "id = any (array[]::int[])": nil, "(id, email) = (id, email)": nil, "(1, 2) = (1, 3)": nil, "(id, 1) <> (id, 1)": nil,
		"row(email) is not distinct from row(name)": nil, "1 + 1 = 3": nil, "tags is not null": nil, "tags = tags": nil, "pair::text is not null": nil, "email::text is not null": nil, "email::text = email::text": nil,
		"current_user = session_user": nil, "current_schema is not null": nil, "current_schema = current_schema": nil, "email collate \"C\" = email": nil, "'abc' collate \"de\" = 'ABC'": nil,
		"active is true or active is true": nil, "email = 'a' or email <> 'a'": nil, "id > 5 or id <= 6": nil, "id > 5 or id < 5 or active": nil, "id > tenant_id or id <= tenant_id": nil, "id > null or id <= null": nil,
		"(id = 1) is not null and active": nil, "other.ctid = other.ctid": nil, "ctid <> ctid": nil, "not (email is null)": nil, "pair is distinct from null": nil,
		"id > $1 or id <= $1":                    raws("null"),
		"coalesce($1, false)":                    raws("null"),
		"name like '%' || $1":                    raws("null"),
		"$1 || $1 = 'aa'":                        raws(`"a"`),
		"$1 = $1":                                raws("null"),
		"$1":                                     raws("false"),
		"id = $1":                                raws("1"),
		"$1::text is null or id = $1":            raws("5"),
		"$1 = $2":                                raws("1", "1.0"),
		"$1 = $2 and ratio = $1":                 raws("0.1", "0.1"),
		"$1 = $1 and pair = $1":                  raws(`"x"`),
		"$1 is not null":                         raws(`"(1,)"`),
		"pair = $1 or $1 is not null":            raws(`"(1,)"`),
		"$1 = 16777217 and ratio = $1":           raws("16777217"),
		"$1 = 16777217":                          raws("16777217"),
		"$1::app.pair is not null":               raws(`"(1,)"`),
		"$1::text = 'x' or name::varchar(1) =$1": raws(`"x"`),
	} {
		cond, err := parseCondition(where)
		require.NoError(t, err, where)
		require.False(t, alwaysTrue(cond.node, params, oddTable()), where)
	}
}

// oddTable is public.customers with columns of types that are not plain.
func oddTable() Relation {
	rel := newFake().relations[Name{"public", "customers"}]
	rel.Columns = append(rel.Columns, col("period", "tstzrange", true), col("pair", "app.pair", true), col("limited", "app.positive", true), col("ratio", "real", true))
	return rel
}

// In plain inheritance a child's column may take NULL where the parent's does not.
func TestNotNullHoldsForTheWholeTree(t *testing.T) {
	t.Parallel()
	cond, err := parseCondition("id is not null")
	require.NoError(t, err)
	rel := newFake().relations[Name{"public", "customers"}]
	require.True(t, alwaysTrue(cond.node, nil, rel))
	rel.Inherited = true
	require.False(t, alwaysTrue(cond.node, nil, rel))
	rel.Kind = 'p'
	require.True(t, alwaysTrue(cond.node, nil, rel), "partitions cannot drop it")
}

// Each operand is looked at once: nesting must not multiply.
func TestTruthIsLinear(t *testing.T) {
	t.Parallel()
	const depth = 90
	nest := func(before, after string) string {
		return strings.Repeat("("+before, depth) + "(id = 1)" + strings.Repeat(after+")", depth)
	}
	for name, where := range map[string]string{
		"not distinct, left":  nest("", " is not distinct from true"),
		"not distinct, right": nest("true is not distinct from ", ""),
		"in, left":            nest("", " in (true, false, null, 1=1)"),
		"in, right":           nest("true in (false, ", ")"),
		"between, bound":      nest("true between ", " and true"),
		"between symmetric":   nest("true between symmetric ", " and true"),
		"equal":               nest("", " = true"),
		"is true":             nest("", " is true"),
		"or not":              nest("not (active or ", ")"),
		"and or":              nest("active and (active or ", ")"),
		"many or":             "id = 1" + strings.Repeat(" or id is null or id is not null and active", 400),
		"long or":             "active" + strings.Repeat(" or active", 5_000),
		"long in":             "id in (1" + strings.Repeat(", 1", 5_000) + ")",
		"long list of nulls":  "email is null" + strings.Repeat(" or email is null", 1_900),
	} {
		parsed, err := pg.Parse("select 1 where " + where)
		require.NoError(t, err, name)
		condition := parsed.Stmts[0].Stmt.GetSelectStmt().WhereClause
		own := 0
		visit(condition.ProtoReflect(), func(protoreflect.Message) { own++ })
		e := newEvaluator(condition, nil, oddTable())
		e.eval(condition)
		require.LessOrEqual(t, maxJudged-e.budget, own, name)
	}
}

// A condition of more nodes than are looked at is no constant, whatever it holds.
func TestTruthGivesUp(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{maxJudged / 2: true, maxJudged: false} {
		parsed, err := pg.Parse("select 1 where " + "true" + strings.Repeat(" and true", n))
		require.NoError(t, err)
		require.Equal(t, want, alwaysTrue(parsed.Stmts[0].Stmt.GetSelectStmt().WhereClause, nil, oddTable()))
	}
}

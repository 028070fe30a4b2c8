-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in the second arm of WITH RECURSIVE
with recursive t as (select 1 as a union all select 1 from t, pg_authid) table t

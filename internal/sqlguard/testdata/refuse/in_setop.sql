-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a set operation
select 1 union select oid::int from pg_authid

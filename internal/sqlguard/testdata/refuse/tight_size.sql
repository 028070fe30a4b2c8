-- expect: TABLE_NOT_ALLOWLISTED
-- guard: tight
-- covers: the size of a hidden table
select pg_relation_size('secret.salaries')

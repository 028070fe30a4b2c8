-- expect: TABLE_NOT_ALLOWLISTED
-- guard: tight
-- covers: the name of a hidden table as a literal
select 'secret.salaries'::regclass

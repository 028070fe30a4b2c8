-- expect: TABLE_NOT_ALLOWLISTED
-- guard: tight
-- covers: a function that tells whether a hidden table is there
select has_table_privilege('secret.salaries', 'select')

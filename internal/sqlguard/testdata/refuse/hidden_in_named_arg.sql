-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a named argument
select make_date(year => (select count(*)::int from pg_authid), month => 1, day => 1)

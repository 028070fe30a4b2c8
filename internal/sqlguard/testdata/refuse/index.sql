-- expect: TABLE_NOT_ALLOWLISTED
-- covers: relkind i
select * from idx

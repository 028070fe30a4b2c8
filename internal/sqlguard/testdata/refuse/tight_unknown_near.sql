-- expect: INVALID_TABLE_NAME
-- guard: tight
-- covers: a near miss of a hidden name
select * from secret.salarie

-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a subscript
select tags[(select count(*) from pg_authid)] from customers

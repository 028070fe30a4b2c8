-- expect: NOT_SELECT
-- covers: TypeName.pct_type
create function f(a orders.id%type) returns int return 1

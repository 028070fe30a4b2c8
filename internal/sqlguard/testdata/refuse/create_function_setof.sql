-- expect: NOT_SELECT
-- covers: TypeName.setof
create function f() returns setof orders language sql as 'table orders'

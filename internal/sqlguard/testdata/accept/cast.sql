-- expect: ACCEPT
-- covers: TypeCast
select id::text, cast(id as numeric(10, 2)), '1 day'::interval from customers

-- expect: ACCEPT
-- covers: TypeName.typmods
select 'a'::varchar(3), 1::numeric(5, 2), '1'::bit(3), now()::timestamptz(0)

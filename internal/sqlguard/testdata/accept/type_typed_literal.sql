-- expect: ACCEPT
-- covers: TypeCast as a typed literal
select date '2024-01-01', timestamp with time zone '2024-01-01 00:00:00+00', point '(1,2)'

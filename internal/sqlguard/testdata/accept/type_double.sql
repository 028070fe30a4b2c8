-- expect: ACCEPT
-- covers: TypeName of several words
select 1::double precision, 'a'::character varying, 'a'::national character(1), '00:00'::time without time zone

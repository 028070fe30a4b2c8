-- expect: ACCEPT
-- covers: TypeCast to an enum of the database
select 'ok'::mood

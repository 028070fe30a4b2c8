-- expect: ACCEPT
-- covers: TypeCast to a type of an extension with an immutable function
select 'A'::citext

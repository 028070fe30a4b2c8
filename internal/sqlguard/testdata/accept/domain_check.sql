-- expect: ACCEPT
-- covers: a cast to a domain with an immutable check
select 'x'::checked

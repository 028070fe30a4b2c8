-- expect: ACCEPT
-- covers: a number that becomes a type’s name, without a read allowlist
select 23::regtype

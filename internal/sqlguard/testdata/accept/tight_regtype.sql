-- expect: ACCEPT
-- guard: tight
-- covers: a type’s name as a literal under allowlist.read
select 'int[]'::regtype, format_type(23, null)

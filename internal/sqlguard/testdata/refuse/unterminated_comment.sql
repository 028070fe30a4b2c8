-- expect: INVALID_INPUT
-- covers: a comment without an end
select 1 /* a /* b */

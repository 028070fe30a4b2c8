-- expect: INVALID_INPUT
-- covers: an octal number that older servers read as a name
select 0o17

-- expect: INVALID_INPUT
-- covers: a literal in pieces
select 'a'
'b'

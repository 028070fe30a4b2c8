-- expect: ACCEPT
-- covers: a backslash in a standard literal
select 'a\', 'b'

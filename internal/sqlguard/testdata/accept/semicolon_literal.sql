-- expect: ACCEPT
-- covers: a semicolon inside a literal
select ';'

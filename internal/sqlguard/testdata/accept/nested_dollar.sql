-- expect: ACCEPT
-- covers: a dollar quote inside a dollar quote
select $a$ $b$ ; $b$ $a$

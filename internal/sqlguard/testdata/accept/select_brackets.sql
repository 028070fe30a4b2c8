-- expect: ACCEPT
-- covers: a SELECT in brackets
((select id from customers))

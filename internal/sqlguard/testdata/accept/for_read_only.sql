-- expect: ACCEPT
-- covers: FOR READ ONLY, which locks nothing
select id from customers for read only

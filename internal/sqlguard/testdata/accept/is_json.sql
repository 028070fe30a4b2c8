-- expect: ACCEPT
-- server: 160004
-- covers: JsonIsPredicate
select data is json from customers

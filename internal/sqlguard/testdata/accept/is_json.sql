-- expect: ACCEPT
-- covers: JsonIsPredicate
select data is json from customers

-- expect: ACCEPT
-- server: 160004
-- covers: JsonIsPredicate JS_TYPE_SCALAR
select data is json scalar from customers

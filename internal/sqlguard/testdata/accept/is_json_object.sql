-- expect: ACCEPT
-- server: 160004
-- covers: JsonIsPredicate JS_TYPE_OBJECT
select data is json object from customers

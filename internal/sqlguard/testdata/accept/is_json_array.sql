-- expect: ACCEPT
-- server: 160004
-- covers: JsonIsPredicate JS_TYPE_ARRAY, JsonIsPredicate.unique_keys
select data is not json array with unique keys from customers

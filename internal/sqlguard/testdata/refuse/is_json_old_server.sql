-- expect: INVALID_INPUT
-- covers: IS JSON on a server before it
select data is json from customers

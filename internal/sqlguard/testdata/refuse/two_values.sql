-- expect: MULTI_STATEMENT
-- covers: VALUES and TABLE
values (1); table orders

-- expect: INVALID_INPUT
-- covers: a command of psql
\d orders

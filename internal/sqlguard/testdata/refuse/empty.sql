-- expect: EMPTY_STATEMENT
-- covers: no token


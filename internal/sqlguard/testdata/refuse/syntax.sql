-- expect: INVALID_INPUT
-- covers: a syntax error
selec 1

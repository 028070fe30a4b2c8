-- expect: EMPTY_STATEMENT
-- covers: only a comment
/* nothing */ -- at all

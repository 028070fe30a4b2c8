-- expect: EMPTY_STATEMENT
-- covers: a comment and semicolons
/* ; */ ; -- ;
;

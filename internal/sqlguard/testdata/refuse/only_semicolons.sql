-- expect: EMPTY_STATEMENT
-- covers: only semicolons
;;

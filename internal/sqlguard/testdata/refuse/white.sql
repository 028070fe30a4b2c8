-- expect: EMPTY_STATEMENT
-- covers: only white space
 	
 

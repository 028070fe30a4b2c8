-- expect: NOT_SELECT
-- covers: DoStmt with LANGUAGE
do language plpgsql 'begin delete from orders; end'

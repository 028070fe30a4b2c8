-- expect: NOT_SELECT
-- covers: IntoClause of SELECT INTO TEMP
select id into temp x from orders

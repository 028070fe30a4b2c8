-- expect: NOT_SELECT
-- covers: MultiAssignRef
update orders set (id, status) = (select 1, 'x')

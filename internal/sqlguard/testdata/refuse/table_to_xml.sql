-- expect: FUNCTION_NOT_ALLOWED
-- covers: a table's name as text, stable
select table_to_xml('pg_authid', true, true, '')

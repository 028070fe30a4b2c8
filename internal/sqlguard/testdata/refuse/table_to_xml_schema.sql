-- expect: FUNCTION_NOT_ALLOWED
-- covers: a table as text, with its schema
select table_to_xml_and_xmlschema('pg_authid', true, true, '')

-- expect: FUNCTION_NOT_ALLOWED
-- covers: SQL as text, with its schema
select query_to_xml_and_xmlschema('select 1', true, true, '')

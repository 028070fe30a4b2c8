-- expect: FUNCTION_NOT_ALLOWED
-- covers: a cursor's name as text
select cursor_to_xml('c', 1, true, true, '')

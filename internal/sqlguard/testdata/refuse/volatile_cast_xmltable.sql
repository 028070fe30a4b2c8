-- expect: FUNCTION_NOT_ALLOWED
-- covers: a column type of XMLTABLE over a volatile function
select * from xmltable('/a' passing xmlelement(name a) columns b weird)

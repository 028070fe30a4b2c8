-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in XMLTABLE
select * from xmltable('/a' passing (select xmlelement(name a) from pg_authid) columns b text)

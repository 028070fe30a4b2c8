-- expect: ACCEPT
-- covers: RangeTableFunc.namespaces
select * from xmltable(xmlnamespaces('http://x' as x), '/x:a' passing xmlelement(name a) columns b text)

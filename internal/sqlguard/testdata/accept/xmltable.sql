-- expect: ACCEPT
-- covers: RangeTableFunc
select * from xmltable('/a' passing xmlelement(name a) columns b text path 'b')

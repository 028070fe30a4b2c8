-- expect: ACCEPT
-- covers: RangeTableFuncCol.for_ordinality, RangeTableFuncCol.is_not_null
select * from xmltable('/a' passing xmlelement(name a) columns n for ordinality, b int path 'b' default 1 not null)

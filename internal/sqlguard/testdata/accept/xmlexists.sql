-- expect: ACCEPT
-- covers: FuncCall COERCE_SQL_SYNTAX of XMLEXISTS
select xmlexists('/a' passing xmlelement(name a))

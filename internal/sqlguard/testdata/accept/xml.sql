-- expect: ACCEPT
-- covers: XmlExpr
select xmlelement(name a, 'b')

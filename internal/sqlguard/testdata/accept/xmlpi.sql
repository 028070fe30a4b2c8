-- expect: ACCEPT
-- covers: XmlExpr IS_XMLPI
select xmlpi(name php, 'x')

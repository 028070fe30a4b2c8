-- expect: ACCEPT
-- covers: XmlExpr IS_DOCUMENT
select xmlelement(name a) is document

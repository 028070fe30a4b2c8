-- expect: ACCEPT
-- covers: XmlExpr IS_XMLCONCAT
select xmlconcat(xmlelement(name a), xmlelement(name b))

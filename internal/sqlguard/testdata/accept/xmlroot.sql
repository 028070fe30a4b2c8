-- expect: ACCEPT
-- covers: XmlExpr IS_XMLROOT
select xmlroot(xmlelement(name a), version '1.0', standalone yes)

-- expect: ACCEPT
-- covers: XmlExpr IS_XMLPARSE
select xmlparse(content 'a')

-- expect: ACCEPT
-- covers: XmlExpr IS_XMLFOREST
select xmlforest(id, name as n) from customers

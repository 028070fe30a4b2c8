-- expect: ACCEPT
-- covers: XmlExpr.named_args
select xmlelement(name a, xmlattributes(id as i), name) from customers

-- expect: ACCEPT
-- covers: XmlSerialize
select xmlserialize(content xmlelement(name a) as text)

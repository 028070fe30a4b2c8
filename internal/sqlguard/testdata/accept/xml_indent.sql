-- expect: ACCEPT
-- server: 160004
-- covers: XmlSerialize.indent of Postgres 16
select xmlserialize(document xmlelement(name a) as text indent)

-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in XMLELEMENT
select xmlelement(name a, (select count(*) from pg_authid))

-- expect: TABLE_NOT_ALLOWLISTED
-- server: 160004
-- covers: a hidden relation in JSON_OBJECT
select json_object('a': (select count(*) from pg_authid))

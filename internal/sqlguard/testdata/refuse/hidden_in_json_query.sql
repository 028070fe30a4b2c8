-- expect: TABLE_NOT_ALLOWLISTED
-- server: 160004
-- covers: a hidden relation in JSON_ARRAY(SELECT …)
select json_array(select rolname from pg_authid)

-- expect: ACCEPT
-- guard: tight
-- covers: information_schema.sql_features under allowlist.read
select * from information_schema.sql_features

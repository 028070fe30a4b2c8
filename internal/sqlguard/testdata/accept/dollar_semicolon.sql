-- expect: ACCEPT
-- covers: a semicolon inside dollar quotes
select $$;$$

-- expect: ACCEPT
-- covers: a semicolon at the end
select 1;

-- expect: ACCEPT
-- covers: ResTarget with a keyword as its name
select 1 as select, 2 "from", 3 user_id

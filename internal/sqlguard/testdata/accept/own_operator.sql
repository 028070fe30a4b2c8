-- expect: ACCEPT
-- covers: an immutable operator of the database’s own
select 1 === 1

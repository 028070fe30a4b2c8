-- expect: ACCEPT
-- covers: CollateClause
select name collate "C" from customers

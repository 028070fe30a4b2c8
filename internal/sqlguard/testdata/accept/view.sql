-- expect: ACCEPT
-- covers: a view with harmless functions
select * from active_customers

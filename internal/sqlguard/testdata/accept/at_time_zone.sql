-- expect: ACCEPT
-- covers: FuncCall timezone
select created_at at time zone 'UTC' from customers

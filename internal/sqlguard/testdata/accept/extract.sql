-- expect: ACCEPT
-- covers: FuncCall extract
select extract(year from created_at) from customers

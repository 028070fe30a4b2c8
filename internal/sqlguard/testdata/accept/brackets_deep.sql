-- expect: ACCEPT
-- covers: brackets inside brackets
select ((((((id)))))) from customers

-- expect: ACCEPT
-- covers: nested block comments
select /* a /* b */ c */ id from customers

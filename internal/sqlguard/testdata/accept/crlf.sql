-- expect: ACCEPT
-- covers: line breaks of Windows
select id
from customers
where id = 1

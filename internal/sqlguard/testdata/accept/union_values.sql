-- expect: ACCEPT
-- covers: SETOP_UNION over VALUES and TABLE
values (1, 2, 3) union all table order_items

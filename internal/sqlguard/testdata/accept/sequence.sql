-- expect: ACCEPT
-- covers: relkind S
select last_value from ids

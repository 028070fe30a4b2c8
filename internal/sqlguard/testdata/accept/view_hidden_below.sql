-- expect: ACCEPT
-- covers: a view over a table of another schema
select id from salaries_view

-- expect: ACCEPT
-- covers: a stable function of the database's own
select app.steady(1)

-- expect: ACCEPT
-- covers: tabs and form feeds
select	idfrom	customers

-- expect: ACCEPT
-- covers: an immutable function of an extension
select similarity('a', 'b')

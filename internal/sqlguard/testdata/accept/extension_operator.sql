-- expect: ACCEPT
-- covers: an immutable operator of an extension
select 'a' ~~~ 'b'

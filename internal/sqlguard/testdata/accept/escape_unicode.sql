-- expect: ACCEPT
-- covers: E literal with Unicode escapes
select E'\u0061\U00000062\x63\144'

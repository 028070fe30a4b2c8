-- expect: ACCEPT
-- covers: a quoted name with upper case
select "Id", "weird col" from app."Product"

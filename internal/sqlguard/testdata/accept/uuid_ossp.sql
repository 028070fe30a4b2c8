-- expect: ACCEPT
-- covers: a random function of an extension
select uuid_generate_v4()

-- expect: ACCEPT
-- covers: a volatile function of the short list
select random(), clock_timestamp(), gen_random_uuid()

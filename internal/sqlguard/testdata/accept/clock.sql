-- expect: ACCEPT
-- covers: clock_timestamp, which is volatile and harmless
select clock_timestamp()

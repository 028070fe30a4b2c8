-- Bounds of one read, the output formats that values are promised in, and (behind a pooler the
-- server connection may be another one each time) that it still lexes and acts as it was checked.
-- No JIT: compiling is not bounded by the cost it was chosen for (a GREATEST of 140,000 arguments, accepted
-- by every other bound, takes 12 s of it and 0.75 s without), and the answers are short.
-- $1, $2, $3: timeouts in ms. $4: the role. $5: a random mark for the error raised on purpose.
SELECT pg_catalog.set_config('statement_timeout', $1::pg_catalog.text, true),
       pg_catalog.set_config('lock_timeout', $2::pg_catalog.text, true),
       pg_catalog.set_config('idle_in_transaction_session_timeout', $3::pg_catalog.text, true),
       pg_catalog.set_config('jit', 'off', true),
       pg_catalog.set_config('DateStyle', 'ISO', true),
       pg_catalog.set_config('IntervalStyle', 'postgres', true),
       pg_catalog.set_config('bytea_output', 'hex', true),
       pg_catalog.set_config('extra_float_digits', '1', true),
       CASE WHEN pg_catalog.current_setting('standard_conforming_strings') <> 'on'
              OR pg_catalog.current_setting('transaction_read_only') <> 'on'
              OR current_user <> $4::pg_catalog.text
            THEN ($5::pg_catalog.text || current_user)::pg_catalog.int4 END

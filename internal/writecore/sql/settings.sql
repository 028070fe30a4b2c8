-- Bounds of one write, the output formats that samples are promised in, and (behind a pooler the server
-- connection may be another one each time) that it still lexes and acts as it was checked.
-- No JIT: what is compiled for a long condition is bounded by nothing else (see the reads' settings).
-- $1, $2, $3: timeouts in ms. $4: the role. $5: a random mark for the error raised on purpose.
SELECT pg_catalog.set_config('statement_timeout', $1::text, true),
       pg_catalog.set_config('lock_timeout', $2::text, true),
       pg_catalog.set_config('idle_in_transaction_session_timeout', $3::text, true),
       pg_catalog.set_config('client_min_messages', 'notice', true),
       pg_catalog.set_config('jit', 'off', true),
       pg_catalog.set_config('DateStyle', 'ISO', true),
       pg_catalog.set_config('IntervalStyle', 'postgres', true),
       pg_catalog.set_config('bytea_output', 'hex', true),
       pg_catalog.set_config('extra_float_digits', '1', true),
       CASE WHEN pg_catalog.current_setting('standard_conforming_strings') <> 'on' OR current_user <> $4::text
            THEN ($5::text || current_user)::int END

-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: COPY … FORCE_NULL *
copy orders from stdin with (format csv, force_null *) on_error ignore

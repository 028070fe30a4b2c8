-- expect: ACCEPT
-- server: 160004
-- covers: JsonFormat JS_ENC_UTF16
select json_object('a': 1 returning bytea format json encoding utf16)

-- expect: FUNCTION_NOT_ALLOWED
-- covers: the network, by an extension
select http_get('http://x')

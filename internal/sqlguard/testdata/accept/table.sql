-- expect: ACCEPT
-- covers: TABLE t
table customers

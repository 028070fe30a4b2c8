-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation of TABLE behind UNION
values (1) union table pg_shadow

-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden view in U& form
select * from U&"pg_st\0061ts"

-- expect: ACCEPT
-- covers: E literals
select E'a\'b', B'101', X'ff', N'x'

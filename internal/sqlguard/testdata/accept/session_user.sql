-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_SESSION_USER
select session_user

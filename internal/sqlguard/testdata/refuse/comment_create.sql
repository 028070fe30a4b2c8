-- expect: MULTI_STATEMENT
-- covers: a comment in front
/**/ select 1; create table app.x()

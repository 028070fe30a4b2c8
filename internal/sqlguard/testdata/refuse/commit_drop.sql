-- expect: MULTI_STATEMENT
-- covers: transaction control in front
COMMIT; DROP SCHEMA public CASCADE

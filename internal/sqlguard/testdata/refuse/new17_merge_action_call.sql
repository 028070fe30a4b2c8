-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: MERGE_ACTION that is read as a call
select merge_action()

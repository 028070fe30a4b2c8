-- expect: ACCEPT
-- covers: SelectStmt.values_lists
values (1, 'a'), (2, 'b')

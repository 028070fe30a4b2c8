-- expect: ACCEPT
-- covers: CommonTableExpr over VALUES
with x(a) as (values (1), (2)) select a from x

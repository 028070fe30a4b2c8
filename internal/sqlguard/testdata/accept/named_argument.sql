-- expect: ACCEPT
-- covers: NamedArgExpr
select make_date(year => 2024, month => 2, day := 3)

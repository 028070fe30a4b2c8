-- expect: NOT_SELECT
-- covers: CreatePLangStmt
create language plperl handler h inline i validator v

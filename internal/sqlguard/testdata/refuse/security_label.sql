-- expect: NOT_SELECT
-- covers: SecLabelStmt
security label for p on table orders is 'x'

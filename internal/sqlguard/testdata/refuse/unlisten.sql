-- expect: NOT_SELECT
-- covers: UnlistenStmt
unlisten *

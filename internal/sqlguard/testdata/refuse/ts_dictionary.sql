-- expect: NOT_SELECT
-- covers: AlterTSDictionaryStmt
alter text search dictionary d (stopwords = 'x')

-- expect: NOT_SELECT
-- covers: DefElem in EXPLAIN that only newer servers know
explain (analyze, serialize text, memory) select 1

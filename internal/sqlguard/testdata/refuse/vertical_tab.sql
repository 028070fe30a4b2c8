-- expect: INVALID_INPUT
-- covers: a vertical tab, which is white space to newer servers only
select1

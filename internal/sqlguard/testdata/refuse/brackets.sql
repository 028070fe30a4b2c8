-- expect: INVALID_INPUT
-- covers: names in square brackets
select [id] from [orders]

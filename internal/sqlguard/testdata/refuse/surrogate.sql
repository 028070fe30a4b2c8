-- expect: INVALID_INPUT
-- covers: half of a surrogate pair
select U&'\d800'

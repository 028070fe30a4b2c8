-- expect: INVALID_INPUT
-- covers: a wrong Unicode escape
select U&'\zzzz'

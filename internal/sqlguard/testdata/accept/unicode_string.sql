-- expect: ACCEPT
-- covers: U& literal
select U&'d\0061t\+000061'

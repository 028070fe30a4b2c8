-- expect: ACCEPT
-- covers: U& literal with another escape character
select U&'!0061' UESCAPE '!'

-- expect: ACCEPT
-- covers: UIDENT
select U&"\0049d" from app.U&"Pr\006fduct"

-- expect: ACCEPT
-- params: 10
-- covers: ParamRef above $9
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10

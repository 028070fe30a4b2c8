-- expect: ACCEPT
-- covers: doubled quotes
select 'it''s', ''''

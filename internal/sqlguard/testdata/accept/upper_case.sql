-- expect: ACCEPT
-- covers: names in upper case, which fold
SELECT ID FROM PUBLIC.CUSTOMERS

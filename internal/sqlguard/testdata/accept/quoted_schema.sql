-- expect: ACCEPT
-- covers: a schema and a table in quotes
select "id" from "public"."orders"

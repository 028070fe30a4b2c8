-- The functions of pg_catalog that a text can call and that may reach beyond their arguments: all that are not
-- immutable, and of the immutable ones those that take names, numbers of objects or text.
SELECT p.proname::text
FROM pg_proc p
WHERE p.pronamespace = 'pg_catalog'::regnamespace
  AND NOT 'internal'::regtype = ANY (p.proargtypes::oid[])
  AND NOT p.prorettype::regtype::text = ANY ('{trigger,event_trigger,internal,language_handler,fdw_handler,index_am_handler,tsm_handler,table_am_handler}')
GROUP BY 1
HAVING bool_or(p.provolatile <> 'i' OR p.proargtypes::oid[] && '{text,name,cstring,oid,regclass,regproc,regprocedure,regtype,regnamespace,pg_node_tree}'::regtype[]::oid[])
ORDER BY 1

-- What masks mean for one relation. {key}: its OID, a blank, and the masks as a JSON array of [schema, table,
-- column]. Empty where they mean nothing, else JSON: Columns (their numbers, and which mask, from 1), Broken
-- (masks of it whose column is not there), Reads, Calls, and InKey (it is partitioned by a masked column). A mask
-- holds for the table that it names, for all that inherit from it, for all that it or those inherit from, since
-- reading these reads it (manual, 5.10), and for columns that are generated from the masked one.
-- pg_depend knows which columns a view's query names, but not whole rows: those are variables without a
-- column number in the stored query.
WITH RECURSIVE mk_key AS MATERIALIZED (
  SELECT {key} AS mk_text
), mk_root AS MATERIALIZED (
  SELECT pg_catalog.split_part(mk_text, ' ', 1)::pg_catalog.oid AS mk_oid FROM mk_key
), mk_list AS MATERIALIZED (
  SELECT mk_item.mk_value ->> 0 AS mk_nsp, mk_item.mk_value ->> 1 AS mk_rel, mk_item.mk_value ->> 2 AS mk_col, mk_item.mk_ord
  FROM mk_key CROSS JOIN LATERAL pg_catalog.json_array_elements(
    pg_catalog.substr(mk_text, pg_catalog.strpos(mk_text, ' ') + 1)::pg_catalog.json) WITH ORDINALITY mk_item(mk_value, mk_ord)
), mk_table AS MATERIALIZED (
  SELECT mk_list.mk_ord, mk_list.mk_col, mk_c.oid AS mk_oid
  FROM mk_list JOIN pg_catalog.pg_namespace mk_n ON mk_n.nspname = mk_list.mk_nsp
  JOIN pg_catalog.pg_class mk_c ON mk_c.relnamespace = mk_n.oid AND mk_c.relname = mk_list.mk_rel AND mk_c.relkind IN ('r', 'p', 'v', 'm', 'f')
), mk_down AS (
  SELECT mk_table.mk_ord, mk_table.mk_col, mk_table.mk_oid FROM mk_table
  UNION
  SELECT mk_down.mk_ord, mk_down.mk_col, mk_i.inhrelid FROM mk_down JOIN pg_catalog.pg_inherits mk_i ON mk_i.inhparent = mk_down.mk_oid
), mk_kin AS ( -- one that inherits may do so from other tables too
  SELECT mk_down.mk_ord, mk_down.mk_col, mk_down.mk_oid FROM mk_down
  UNION
  SELECT mk_kin.mk_ord, mk_kin.mk_col, mk_i.inhparent FROM mk_kin JOIN pg_catalog.pg_inherits mk_i ON mk_i.inhrelid = mk_kin.mk_oid
), mk_named AS MATERIALIZED (
  SELECT mk_kin.mk_oid, mk_a.attnum, mk_kin.mk_ord
  FROM mk_kin JOIN pg_catalog.pg_attribute mk_a ON mk_a.attrelid = mk_kin.mk_oid AND mk_a.attname = mk_kin.mk_col AND mk_a.attnum > 0 AND NOT mk_a.attisdropped
), mk_column AS MATERIALIZED ( -- and columns generated from them; the server notes what these read in one of two ways
  SELECT mk_oid, attnum, mk_ord FROM mk_named
  UNION
  SELECT mk_named.mk_oid, mk_a.attnum, mk_named.mk_ord
  FROM mk_named JOIN pg_catalog.pg_attribute mk_a ON mk_a.attrelid = mk_named.mk_oid AND mk_a.attgenerated <> '' AND NOT mk_a.attisdropped
  LEFT JOIN pg_catalog.pg_attrdef mk_f ON mk_f.adrelid = mk_a.attrelid AND mk_f.adnum = mk_a.attnum
  WHERE EXISTS (
    SELECT FROM pg_catalog.pg_depend mk_d
    WHERE mk_d.refclassid = 1259 AND mk_d.refobjid = mk_named.mk_oid AND mk_d.refobjsubid = mk_named.attnum
      AND (mk_d.classid = 1259 AND mk_d.objid = mk_a.attrelid AND mk_d.objsubid = mk_a.attnum OR mk_d.classid = 2604 AND mk_d.objid = mk_f.oid))
), mk_broken AS MATERIALIZED (
  SELECT mk_kin.mk_oid, mk_kin.mk_ord FROM mk_kin
  WHERE mk_kin.mk_ord IN (
    SELECT mk_table.mk_ord FROM mk_table
    WHERE NOT EXISTS (SELECT FROM mk_column WHERE mk_column.mk_oid = mk_table.mk_oid AND mk_column.mk_ord = mk_table.mk_ord))
), mk_over AS ( -- of a view, what it stands on, down to the tables
  SELECT mk_root.mk_oid FROM mk_root
  UNION
  SELECT mk_d.refobjid
  FROM mk_over JOIN pg_catalog.pg_class mk_c ON mk_c.oid = mk_over.mk_oid AND mk_c.relkind IN ('v', 'm') AND mk_c.oid >= 16384
  JOIN pg_catalog.pg_rewrite mk_w ON mk_w.ev_class = mk_over.mk_oid
  JOIN pg_catalog.pg_depend mk_d ON mk_d.classid = 2618 AND mk_d.objid = mk_w.oid AND mk_d.refclassid = 1259
), mk_rule AS MATERIALIZED (
  SELECT mk_w.oid AS mk_rid, mk_w.ev_class, mk_w.ev_action::pg_catalog.text AS mk_action, mk_c.relkind
  FROM mk_over JOIN pg_catalog.pg_class mk_c ON mk_c.oid = mk_over.mk_oid AND mk_c.relkind IN ('v', 'm') AND mk_c.oid >= 16384
  JOIN pg_catalog.pg_rewrite mk_w ON mk_w.ev_class = mk_over.mk_oid
), mk_reads AS (
  SELECT EXISTS (
    SELECT FROM mk_rule JOIN pg_catalog.pg_depend mk_d ON mk_d.classid = 2618 AND mk_d.objid = mk_rule.mk_rid AND mk_d.refclassid = 1259
    WHERE mk_d.refobjid <> mk_rule.ev_class
      AND (EXISTS (SELECT FROM mk_column WHERE mk_column.mk_oid = mk_d.refobjid AND mk_column.attnum = mk_d.refobjsubid)
           OR EXISTS (SELECT FROM mk_broken WHERE mk_broken.mk_oid = mk_d.refobjid)
           OR mk_rule.mk_action ~ ':varattno 0 ' AND EXISTS (SELECT FROM mk_column WHERE mk_column.mk_oid = mk_d.refobjid))
  ) OR EXISTS ( -- samples of values, and statements of others
    SELECT FROM mk_rule JOIN pg_catalog.pg_class mk_s ON mk_s.relnamespace = 11 AND mk_s.relname ~ '^pg_stat(s|istic)'
    WHERE mk_rule.relkind = 'm' AND mk_rule.mk_action ~ (':relid ' || mk_s.oid::pg_catalog.text || ' ')
  ) OR EXISTS ( -- values of columns younger than their rows; on the system's tables nothing depends either
    SELECT FROM mk_rule JOIN pg_catalog.pg_attribute mk_a ON mk_a.attrelid = 1249 AND mk_a.attname = 'attmissingval'
    WHERE mk_rule.mk_action ~ ':relid 1249 ' AND mk_rule.mk_action ~ (':varattno (0|' || mk_a.attnum::pg_catalog.text || ') ')
  ) OR EXISTS ( -- functions that take SQL or names of tables as text; on those of the system nothing depends
    SELECT FROM mk_rule CROSS JOIN LATERAL (
      SELECT mk_q.oid AS mk_fid FROM pg_catalog.pg_proc mk_q
      WHERE mk_q.proname = ANY ('{query_to_xml,query_to_xml_and_xmlschema,cursor_to_xml,table_to_xml,table_to_xml_and_xmlschema,schema_to_xml,schema_to_xml_and_xmlschema,
        database_to_xml,database_to_xml_and_xmlschema,ts_stat,ts_rewrite,xpath_table,connectby,crosstab,crosstab2,crosstab3,crosstab4,dblink,dblink_fetch,dblink_get_result}'::pg_catalog.text[]) AND mk_rule.relkind = 'm') mk_f
    WHERE mk_rule.mk_action ~ (':funcid ' || mk_f.mk_fid::pg_catalog.text || ' ')) AS mk_yes
), mk_calls AS (
  SELECT pg_catalog.json_agg(pg_catalog.json_build_object('OID', mk_p.oid::pg_catalog.int8, 'Schema', mk_n.nspname, 'Name', mk_p.proname,
    'OnPath', pg_catalog.pg_function_is_visible(mk_p.oid)) ORDER BY mk_p.oid) AS mk_json
  FROM pg_catalog.pg_proc mk_p JOIN pg_catalog.pg_namespace mk_n ON mk_n.oid = mk_p.pronamespace
  WHERE mk_p.oid IN (
      SELECT mk_d.refobjid FROM mk_rule JOIN pg_catalog.pg_depend mk_d ON mk_d.classid = 2618 AND mk_d.objid = mk_rule.mk_rid AND mk_d.refclassid = 1255)
    AND EXISTS (SELECT FROM mk_rule WHERE mk_rule.relkind = 'm')
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend mk_e WHERE mk_e.classid = 1255 AND mk_e.objid = mk_p.oid AND mk_e.deptype = 'e')
), mk_own AS (
  SELECT (SELECT pg_catalog.json_agg(pg_catalog.json_build_object('Number', mk_column.attnum, 'Mask', mk_column.mk_ord) ORDER BY mk_column.attnum, mk_column.mk_ord)
          FROM mk_column WHERE mk_column.mk_oid = mk_root.mk_oid) AS mk_columns,
         (SELECT pg_catalog.json_agg(mk_broken.mk_ord ORDER BY mk_broken.mk_ord) FROM mk_broken WHERE mk_broken.mk_oid = mk_root.mk_oid) AS mk_brokens,
         EXISTS (SELECT FROM pg_catalog.pg_partitioned_table mk_t JOIN mk_column ON mk_column.mk_oid = mk_t.partrelid
                 WHERE mk_t.partrelid = mk_root.mk_oid
                   AND (mk_column.attnum = ANY (mk_t.partattrs::pg_catalog.int2[]) OR mk_t.partexprs::pg_catalog.text ~ (':varattno ' || mk_column.attnum::pg_catalog.text || ' '))) AS mk_inkey
  FROM mk_root
)
SELECT CASE WHEN mk_columns IS NULL AND mk_brokens IS NULL AND NOT mk_yes AND mk_json IS NULL THEN ''
            ELSE pg_catalog.json_build_object('Columns', mk_columns, 'Broken', mk_brokens, 'Reads', mk_yes, 'Calls', mk_json, 'InKey', mk_inkey)::pg_catalog.text END
FROM mk_own CROSS JOIN mk_reads CROSS JOIN mk_calls

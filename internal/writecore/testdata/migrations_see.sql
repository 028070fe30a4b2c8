-- What a case of the migration suite asks afterwards.
CREATE SCHEMA see;
CREATE FUNCTION see.col(rel text, name text) RETURNS text LANGUAGE sql AS $$
  SELECT concat_ws(' ', format_type(att.atttypid, att.atttypmod), CASE WHEN att.attnotnull THEN 'not null' END, CASE WHEN att.attidentity <> '' THEN 'identity ' || att.attidentity::text END,
    CASE WHEN att.attgenerated <> '' THEN 'generated' END, CASE WHEN def.oid IS NOT NULL THEN 'default ' || pg_get_expr(def.adbin, def.adrelid) END)
  FROM pg_attribute att LEFT JOIN pg_attrdef def ON def.adrelid = att.attrelid AND def.adnum = att.attnum
  WHERE att.attrelid = to_regclass(rel) AND att.attname = name AND NOT att.attisdropped $$;
CREATE FUNCTION see.rel(name text) RETURNS text LANGUAGE sql AS $$
  SELECT concat_ws(' ', relkind, relpersistence, array_to_string(reloptions, ',')) FROM pg_class WHERE oid = to_regclass(name) $$;
CREATE FUNCTION see.con(rel text, name text) RETURNS text LANGUAGE sql AS $$
  SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = to_regclass(rel) AND conname = name $$;
CREATE FUNCTION see.dom(domain text, name text) RETURNS text LANGUAGE sql AS $$
  SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid = to_regtype(domain) AND conname = name $$;
CREATE FUNCTION see.enum(type text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = to_regtype(type) $$;
CREATE FUNCTION see.trig(rel text, name text) RETURNS text LANGUAGE sql AS $$
  SELECT tgenabled::text FROM pg_trigger WHERE tgrelid = to_regclass(rel) AND tgname = name $$;
CREATE FUNCTION see.stat(schema text, name text) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT FROM pg_statistic_ext WHERE stxname = name AND stxnamespace::regnamespace::text = schema) $$;
CREATE FUNCTION see.comment(rel text, sub int) RETURNS text LANGUAGE sql AS $$ SELECT col_description(to_regclass(rel), sub) $$;
CREATE FUNCTION see.parents(rel text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(inhparent::regclass::text, ',') FROM pg_inherits WHERE inhrelid = to_regclass(rel) $$;

-- Reads that try to see a masked column, or to order, group or compare by it: one per line. Each must be
-- refused; none of their answers may hold anything of a value. $1 is given as a text.
SELECT lower(email) FROM app.users
SELECT email || '' FROM app.users
SELECT email::text FROM app.users
SELECT CAST(email AS varchar) FROM app.users
SELECT email COLLATE "C" FROM app.users
SELECT substr(ssn, 1, 3) FROM app.users
SELECT reverse(ssn) FROM app.users
SELECT encode(email::bytea, 'hex') FROM app.users
SELECT md5(email) FROM app.users
SELECT length(email) FROM app.users
SELECT ascii(email) FROM app.users
SELECT pay + 0 FROM app.users
SELECT -pay FROM app.users
SELECT pay::int FROM app.users
SELECT tags[1] FROM app.users
SELECT doc -> 'key' FROM app.users
SELECT doc ->> 'key' FROM app.users
SELECT unnest(tags) FROM app.users
SELECT jsonb_each(doc) FROM app.users
SELECT min(email) FROM app.users
SELECT max(pay) FROM app.users
SELECT sum(pay) FROM app.users
SELECT avg(pay) FROM app.users
SELECT array_agg(email) FROM app.users
SELECT string_agg(email, ',') FROM app.users
SELECT json_agg(u) FROM app.users u
SELECT json_agg(u.*) FROM app.users u
SELECT jsonb_object_agg(id, email) FROM app.users
SELECT count(email) FROM app.users
SELECT count(DISTINCT email) FROM app.users
SELECT coalesce(email, '') FROM app.users
SELECT nullif(email, '') FROM app.users
SELECT greatest(email, 'a') FROM app.users
SELECT CASE WHEN true THEN email END FROM app.users
SELECT CASE email WHEN 'a' THEN 1 END FROM app.users
SELECT ARRAY[email] FROM app.users
SELECT ROW(email) FROM app.users
SELECT ROW(u.*) FROM app.users u
SELECT u FROM app.users u
SELECT users FROM app.users
SELECT app.users FROM app.users
SELECT (u).email FROM app.users u
SELECT (u).* FROM app.users u
SELECT email(u) FROM app.users u
SELECT row_to_json(u) FROM app.users u
SELECT to_jsonb(u) FROM app.users u
SELECT to_json(u.*) FROM app.users u
SELECT u::text FROM app.users u
SELECT format('%s', u) FROM app.users u
SELECT format('%s', email) FROM app.users
SELECT concat(email) FROM app.users
SELECT xmlforest(email) FROM app.users
SELECT xmlelement(name x, email) FROM app.users
SELECT json_build_object('e', email) FROM app.users
SELECT x.* FROM app.users u, LATERAL (SELECT u.email AS y) x
SELECT x FROM app.users u, LATERAL unnest(ARRAY[u.email]) x
SELECT x FROM app.users u, LATERAL regexp_split_to_table(u.email, '') x
SELECT x FROM app.users u, LATERAL jsonb_array_elements_text(jsonb_build_array(u.email)) x
SELECT y FROM app.users u, XMLTABLE('/a' PASSING xmlelement(name a, u.email) COLUMNS y text PATH '.') t
SELECT email FROM (SELECT email FROM app.users) s
SELECT e FROM (SELECT email AS e FROM app.users) s
SELECT e FROM (SELECT id, email FROM app.users) s(i, e)
SELECT * FROM (SELECT * FROM app.users) s
SELECT * FROM (TABLE app.users) s
SELECT s.* FROM (SELECT u.* FROM app.users u) s
SELECT s FROM (SELECT * FROM app.users) s
SELECT (SELECT email FROM app.users WHERE id = 1)
SELECT ARRAY(SELECT email FROM app.users)
SELECT (SELECT u FROM app.users u LIMIT 1)::text
WITH x AS (SELECT email FROM app.users) SELECT email FROM x
WITH x(e) AS (SELECT email FROM app.users) SELECT e FROM x
WITH x AS (SELECT * FROM app.users) SELECT * FROM x
WITH x AS (TABLE app.users) TABLE x
WITH RECURSIVE x AS (SELECT email FROM app.users UNION SELECT email FROM x) SELECT * FROM x
SELECT email FROM app.users UNION SELECT email FROM app.contacts
SELECT email FROM app.contacts UNION ALL SELECT email FROM app.users
TABLE app.users UNION TABLE app.users
SELECT email FROM app.contacts EXCEPT SELECT email FROM app.users
SELECT email FROM app.contacts INTERSECT SELECT email FROM app.users
VALUES ((SELECT email FROM app.users LIMIT 1))
SELECT DISTINCT email FROM app.users
SELECT DISTINCT * FROM app.users
SELECT DISTINCT ON (email) id FROM app.users
SELECT DISTINCT ON (2) id, email FROM app.users
SELECT id, email FROM app.users ORDER BY email
SELECT id, email FROM app.users ORDER BY 2
SELECT id, email AS e FROM app.users ORDER BY e
SELECT name, email AS id FROM app.users ORDER BY id
SELECT * FROM app.users ORDER BY 4
SELECT id FROM app.users ORDER BY pay DESC
SELECT id FROM app.users ORDER BY lower(email)
SELECT id FROM app.users ORDER BY (SELECT users.pay)
SELECT count(*) FROM app.users GROUP BY email
SELECT email, count(*) FROM app.users GROUP BY email
SELECT email, count(*) FROM app.users GROUP BY 1
SELECT email AS e, count(*) FROM app.users GROUP BY e
SELECT count(*) FROM app.users GROUP BY ROLLUP (email)
SELECT email FROM app.users GROUP BY GROUPING SETS ((1))
SELECT team FROM app.users GROUP BY team HAVING max(email) > 'a'
SELECT row_number() OVER (ORDER BY email) FROM app.users
SELECT count(*) OVER (PARTITION BY email) FROM app.users
SELECT rank() OVER w FROM app.users WINDOW w AS (ORDER BY pay)
SELECT first_value(email) OVER () FROM app.users
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY pay) FROM app.users
SELECT string_agg(name, ',' ORDER BY email) FROM app.users
SELECT count(*) FILTER (WHERE email > 'a') FROM app.users
SELECT id FROM app.users WHERE email LIKE 'z%'
SELECT id FROM app.users WHERE email ILIKE 'z%'
SELECT id FROM app.users WHERE email ~ '^z'
SELECT id FROM app.users WHERE email SIMILAR TO 'z%'
SELECT id FROM app.users WHERE starts_with(email, 'z')
SELECT id FROM app.users WHERE email ^@ 'z'
SELECT id FROM app.users WHERE email > 'm'
SELECT id FROM app.users WHERE email BETWEEN 'a' AND 'm'
SELECT id FROM app.users WHERE pay >= 90000
SELECT id FROM app.users WHERE pay BETWEEN 1 AND 2
SELECT id FROM app.users WHERE email <> $1
SELECT id FROM app.users WHERE email < $1
SELECT id FROM app.users WHERE email = 'a'
SELECT id FROM app.users WHERE email = lower($1)
SELECT id FROM app.users WHERE lower(email) = $1
SELECT id FROM app.users WHERE email IN ('a', 'b')
SELECT id FROM app.users WHERE email = ANY (ARRAY['a'])
SELECT id FROM app.users WHERE email IN (SELECT email FROM app.contacts)
SELECT id FROM app.users WHERE (email, id) = ($1, 1)
SELECT id FROM app.users WHERE email IS DISTINCT FROM $1
SELECT id FROM app.users WHERE email OPERATOR(pg_catalog.~) $1
SELECT id FROM app.users WHERE (email IS NULL) = (email > 'm')
SELECT id FROM app.users WHERE tags @> ARRAY['a']
SELECT id FROM app.users WHERE 'a' = ANY (tags)
SELECT id FROM app.users WHERE doc ? 'key'
SELECT id FROM app.users WHERE doc @> '{"key": "x"}'
SELECT id FROM app.users u WHERE u = ROW(1)
SELECT id FROM app.users u WHERE u::text LIKE '%z%'
SELECT u.id FROM app.users u JOIN app.contacts c ON u.email = c.email
SELECT u.id FROM app.users u JOIN app.contacts c USING (email)
SELECT u.id FROM app.users u NATURAL JOIN app.contacts c
SELECT j.email FROM (app.users u JOIN app.contacts c ON c.id = u.id) AS j(a, b)
SELECT j FROM (app.users u CROSS JOIN app.contacts c) AS j
SELECT e FROM app.users AS u(i, n, t, e)
SELECT u.e FROM app.users AS u(i, n, t, e)
SELECT * FROM app.users AS u(i, n, t, e)
SELECT c.id FROM app.contacts c WHERE EXISTS (SELECT FROM app.users u WHERE u.email = c.email)
SELECT c.id FROM app.contacts c WHERE EXISTS (SELECT 1 FROM app.users GROUP BY email HAVING count(*) > 1)
SELECT 1 WHERE EXISTS (SELECT * FROM app.users GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 HAVING count(*) > 1)
SELECT c.id FROM app.contacts c WHERE c.email IN (SELECT email FROM app.users)
SELECT (SELECT c.note FROM app.contacts c WHERE c.email = u.email) FROM app.users u
SELECT * FROM app.users LIMIT (SELECT length(email) FROM app.users WHERE id = 1)
SELECT id FROM app.users OFFSET (SELECT pay::int FROM app.users WHERE id = 1)
SELECT id FROM app.users TABLESAMPLE BERNOULLI ((SELECT pay FROM app.users WHERE id = 1))
SELECT 1 / (pay - 5) FROM app.users
SELECT (email)::int FROM app.users
SELECT id, $1 = ANY (ARRAY[email]) FROM app.users
SELECT "email" || '' FROM "app"."users"
SELECT EMAIL || '' FROM APP.USERS
SELECT U&"em\0061il" || '' FROM app.users
SELECT users.email || '' FROM app.users
SELECT app.users.email || '' FROM app.users
SELECT "E-Mail" || '' FROM app."Odd Users"
SELECT lower(payload) FROM app.events
SELECT lower(payload) FROM app.events_24
SELECT payload || '' FROM ONLY app.events_24
SELECT lower(badge) FROM app.people
SELECT lower(badge) FROM app.staff
SELECT lower(email_up) FROM app.users
SELECT id FROM app.users WHERE email_up LIKE 'Z%'
SELECT * FROM app.v_users
SELECT id FROM app.v_users
SELECT id FROM app.v_deep
SELECT r FROM app.v_row
SELECT email_up FROM app.v_generated
SELECT * FROM app.v_stats
SELECT * FROM app.m_users
SELECT * FROM app.m_function
SELECT app.mail_of(1)
SELECT * FROM app.row_of(1)
SELECT (app.row_of(1)).email
SELECT * FROM app.broken
SELECT id FROM app.broken
SELECT most_common_vals FROM pg_stats WHERE tablename = 'users'
SELECT histogram_bounds FROM pg_catalog.pg_stats
SELECT stavalues1 FROM pg_statistic
SELECT * FROM pg_statistic_ext_data
SELECT * FROM pg_stats_ext
SELECT * FROM pg_stats_ext_exprs
SELECT attmissingval::text FROM pg_attribute
SELECT query_to_xml('SELECT email FROM app.users', true, true, '')
SELECT table_to_xml('app.users', true, true, '')
SELECT schema_to_xml('app', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT * FROM ts_stat('SELECT to_tsvector(email) FROM app.users')
SELECT pg_read_file('base/1/1')
SELECT lo_get(1)
SELECT to_tsvector(email) FROM app.users
SELECT ts_headline(email, to_tsquery('x')) FROM app.users
SELECT pg_column_size(email) FROM app.users
SELECT num_nulls(email) FROM app.users
SELECT pg_typeof(email) FROM app.users
SELECT hashtext(email) FROM app.users
SELECT jsonb_populate_record(u, '{}') FROM app.users u
SELECT set_config('app.x', email, true) FROM app.users
SELECT lower(contact) FROM app.v_own
SELECT contact FROM app.v_over
SELECT id FROM app.v_own ORDER BY contact
SELECT GROUPING(email) FROM app.users GROUP BY email
SELECT json_array(SELECT email FROM app.users)
SELECT json_object('e': email) FROM app.users
SELECT json_arrayagg(email) FROM app.users
SELECT lag(email) OVER (ORDER BY id) FROM app.users
SELECT email IS NULL, email IS JSON FROM app.users
SELECT id FROM app.users WHERE email BETWEEN SYMMETRIC $1 AND $1
SELECT id FROM app.users WHERE (SELECT email) = $1
SELECT id FROM app.users WHERE ROW(email) = ROW($1)
SELECT id FROM app.users WHERE email = $1 COLLATE "C"
SELECT id FROM app.users WHERE (email = $1) = (pay > 1)
SELECT id FROM app.users WHERE email = ANY ($1::text[])
SELECT id FROM app.users WHERE NOT email > ALL (SELECT email FROM app.contacts)
SELECT overlay(ssn placing 'x' from 1) FROM app.users
SELECT position('4' in ssn) FROM app.users
SELECT extract(epoch FROM pay::int * interval '1 s') FROM app.users
SELECT trim(email) FROM app.users
SELECT u.* IS NULL FROM app.users u
SELECT (SELECT u.*) FROM app.users u
SELECT x.email FROM app.users u, LATERAL (SELECT (u).*) x
SELECT * FROM app.users u, LATERAL ROWS FROM (lower(u.email), upper(u.ssn)) x
SELECT email FROM app.users WHERE id = 1 UNION ALL SELECT NULL
(SELECT email FROM app.users) EXCEPT (SELECT 'x')
WITH u AS MATERIALIZED (SELECT id, ssn FROM app.users) SELECT u.id FROM u WHERE ssn LIKE '9%'
WITH RECURSIVE t(n, e) AS (SELECT 1, email FROM app.users UNION ALL SELECT n + 1, e FROM t WHERE n < 2) SELECT n FROM t ORDER BY e
SELECT u.row_to_json FROM app.users u
SELECT u.to_jsonb FROM app.users u
SELECT u.record_out FROM app.users u
SELECT u.concat FROM app.users u
SELECT u.json_agg FROM app.users u
SELECT u.count FROM app.users u
SELECT u.hash_record FROM app.users u
SELECT u.pg_column_size FROM app.users u
SELECT users.quote_literal FROM app.users
SELECT app.users.row_to_json FROM app.users
SELECT "u"."row_to_json" FROM app.users AS "u"
SELECT e.to_jsonb FROM ONLY app.events_24 e
SELECT p.to_jsonb FROM app.people p
SELECT v.to_jsonb FROM app.v_own v
SELECT a.to_jsonb FROM pg_attribute a
SELECT j.row_to_json FROM (app.users u CROSS JOIN app.contacts c) AS j
SELECT id FROM app.users u WHERE u.record_out::text LIKE '%z%'
SELECT id FROM app.users u ORDER BY u.hash_record
SELECT 1 FROM app.users u GROUP BY u.id HAVING count(u.row_to_json) > 0
SELECT x.j FROM app.users u, LATERAL (SELECT u.row_to_json AS j) x
SELECT (SELECT x.count FROM app.users x)
SELECT c.id FROM app.contacts c WHERE EXISTS (SELECT u.row_to_json FROM app.users u)
WITH u AS (SELECT 1 AS row_to_json) SELECT u.row_to_json FROM u UNION ALL SELECT length(u.row_to_json::text) FROM app.users u
SELECT u.user_row FROM app.users u
SELECT users.user_row FROM app.users
SELECT app.users.user_row FROM app.users
SELECT id FROM app.users u WHERE u.user_row::text LIKE '%z%'
SELECT id FROM app.users u ORDER BY u.user_row
SELECT count(u.user_row) FROM app.users u
SELECT id FROM app.users u WHERE u.user_row = $1
SELECT x.r FROM app.users u, LATERAL (SELECT u.user_row AS r) x
SELECT (u.user_row).email FROM app.users u
SELECT lower(badge) FROM app.guests
SELECT badge FROM app.guests ORDER BY badge
SELECT badge || '' FROM app.interns
SELECT id FROM app.guests WHERE badge > 'a'
SELECT g.to_jsonb FROM app.guests g
SELECT b FROM app.v_guests
SELECT word FROM app.m_words
SELECT word FROM app.m_words_over
SELECT n FROM app.v_words
SELECT * FROM app.v_missing
SELECT v FROM app.v_missing_row
SELECT u.bytea FROM app.users u
SELECT u.xml FROM app.users u
SELECT u.tsvector FROM app.users u
SELECT users.bytea FROM app.users
SELECT app.users.bytea FROM app.users
SELECT "u"."bytea" FROM app.users AS "u"
SELECT bytea(u) FROM app.users u
SELECT xml(u) FROM app.users u
SELECT u::bytea FROM app.users u
SELECT CAST(u AS xml) FROM app.users u
SELECT u::tsvector FROM app.users u
SELECT u.*::bytea FROM app.users u
SELECT encode(u, 'escape') FROM app.users u
SELECT encode(u.bytea, 'escape') FROM app.users u
SELECT encode(users, 'escape') FROM app.users
SELECT octet_length(u) FROM app.users u
SELECT get_byte(u, 3) FROM app.users u
SELECT substr(u, 1, 9) FROM app.users u
SELECT u || '\x00'::bytea FROM app.users u
SELECT count(u.bytea) FROM app.users u
SELECT ts_rank(u.tsvector, 'zeb') FROM app.users u
SELECT x.b FROM app.users u, LATERAL (SELECT u.bytea AS b) x
SELECT b FROM app.users u, LATERAL ts_debug(u.xml::text) b
SELECT l FROM app.users u, LATERAL unnest(u.tsvector) l
SELECT id FROM app.users u WHERE u.bytea > $1
SELECT id FROM app.users u WHERE u.bytea = $1
SELECT id FROM app.users u WHERE u = $1
SELECT id FROM app.users u WHERE u.tsvector @@ 'zeb'
SELECT id FROM app.users u ORDER BY u.bytea
SELECT 1 FROM app.users u GROUP BY u.bytea
SELECT p.bytea FROM app.people p
SELECT encode(p, 'escape') FROM app.people p
SELECT encode(s, 'escape') FROM app.staff s
SELECT s.bytea FROM app.staff s
SELECT e.bytea FROM ONLY app.events_24 e
SELECT email::public.pair FROM app.users
SELECT email::pair FROM app.users
SELECT (email::pair).a FROM app.users
SELECT pair(email) FROM app.users
SELECT pay::pair FROM app.users
SELECT doc::pair FROM app.users
SELECT encode(email, 'escape') FROM app.users
SELECT id FROM app.users WHERE email = $1::pair
SELECT id FROM app.users WHERE $1::pair = email
SELECT id FROM app.users WHERE email > $1::pair
SELECT two::bytea FROM app.pairs
SELECT two::int FROM app.pairs
SELECT two + 0 FROM app.pairs
SELECT two::text FROM app.pairs
SELECT (two).a FROM app.pairs
SELECT (p.two).a FROM app.pairs p
SELECT (two).* FROM app.pairs
SELECT bytea(two) FROM app.pairs
SELECT (two).bytea FROM app.pairs
SELECT (p.two).int4 FROM app.pairs p
SELECT encode(two, 'escape') FROM app.pairs
SELECT id FROM app.pairs WHERE two > $1
SELECT id FROM app.pairs WHERE two = $1::int
SELECT id FROM app.pairs WHERE (two).a = $1
SELECT id FROM app.pairs ORDER BY two
SELECT coalesce(two, 5) FROM app.pairs
SELECT two FROM app.pairs UNION ALL SELECT 5
SELECT generate_series(1, two) FROM app.pairs
SELECT id FROM app.pairs LIMIT (SELECT two FROM app.pairs WHERE id = 1)
SELECT b FROM app.v_cast
SELECT id FROM app.v_cast
SELECT p FROM app.v_cast_column
SELECT b FROM app.m_cast
SELECT body::int FROM app.letters
SELECT body + 0 FROM app.letters
SELECT id FROM app.letters WHERE body > $1
SELECT generate_series(1, body) FROM app.letters

-- The world of the migration suite; made anew for every case, as migrator.
DROP SCHEMA IF EXISTS app, app2, hidden CASCADE;
CREATE SCHEMA app; CREATE SCHEMA app2; CREATE SCHEMA hidden;
GRANT USAGE ON SCHEMA app, app2 TO readonly, writer;
REVOKE USAGE ON SCHEMA app2 FROM readonly;
ALTER DEFAULT PRIVILEGES FOR ROLE migrator IN SCHEMA app GRANT SELECT ON TABLES TO readonly, writer;
SET search_path = app;

CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE spare AS ENUM ('x');
CREATE DOMAIN small AS int;
ALTER DOMAIN small ADD CONSTRAINT small_loose CHECK (VALUE < 1000) NOT VALID;
CREATE DOMAIN unused AS text;
CREATE SEQUENCE s;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION plain() RETURNS int LANGUAGE sql AS 'SELECT 1';

CREATE TABLE u (id int PRIMARY KEY, name text NOT NULL, code text);
CREATE UNIQUE INDEX u_name ON u (name);
INSERT INTO u SELECT g, 'n' || g, CASE WHEN g > 1 THEN 'c' END FROM generate_series(1, 5) g;

CREATE TABLE t (id int PRIMARY KEY, a int, b text NOT NULL DEFAULT '', c varchar(10), n numeric(10, 2), u_id int REFERENCES u, m mood, old text,
  CONSTRAINT t_a_check CHECK (a > 0));
ALTER TABLE t ADD CONSTRAINT t_loose CHECK (a < 1000) NOT VALID;
CREATE INDEX t_b ON t (b);
CREATE STATISTICS t_stats ON a, b FROM t;
CREATE TRIGGER t_touch BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION touch();
INSERT INTO t SELECT g, g, 'b' || g, 'c', g, g % 5 + 1, 'ok', CASE WHEN g <= 30 THEN 'x' END FROM generate_series(1, 50) g;
CREATE VIEW v AS SELECT id, a FROM t;
CREATE VIEW v2 AS SELECT a FROM v;
CREATE VIEW alone AS SELECT id FROM u;
CREATE MATERIALIZED VIEW mat AS SELECT id FROM u;

CREATE TABLE k (u_id int);
ALTER TABLE k ADD CONSTRAINT k_fk FOREIGN KEY (u_id) REFERENCES u NOT VALID;
CREATE TABLE free (a int, b int); -- nothing stands on it
INSERT INTO free SELECT g, g FROM generate_series(1, 10) g;
CREATE TABLE empty ();
CREATE TABLE keyed (id int PRIMARY KEY, tag varchar(10));
CREATE INDEX keyed_tag ON keyed (tag);
CREATE TABLE shape (x int);
CREATE TABLE holder (s shape, y int);
CREATE TABLE dt (x small);
INSERT INTO dt VALUES (1);
CREATE TABLE num (id int GENERATED ALWAYS AS IDENTITY, e int GENERATED ALWAYS AS (1 + 1) STORED);
CREATE SEQUENCE owned OWNED BY free.a;

CREATE TABLE parent (id int); CREATE TABLE child (x int) INHERITS (parent); CREATE TABLE lone (id int);
CREATE TABLE p (id int, d int NOT NULL) PARTITION BY RANGE (d);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE INDEX p_d ON p (d);
CREATE TABLE q (id int, d int NOT NULL);
CREATE TABLE q_known (id int, d int NOT NULL, CHECK (d >= 20 AND d < 30));
CREATE INDEX ON ONLY p (id);
CREATE INDEX p1_id ON p1 (id);

CREATE TABLE hidden.h (id int PRIMARY KEY, w int);
CREATE INDEX h_i ON hidden.h (id);
CREATE STATISTICS h_stats ON id, w FROM hidden.h; -- in app, by the search path
CREATE SEQUENCE hidden.s;
CREATE TYPE hidden.mood AS ENUM ('a');
CREATE FUNCTION hidden.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';

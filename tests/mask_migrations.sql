-- Migrations beside masked columns, one per line. Those behind OK may be previewed; the others are refused.
ALTER TABLE app.users RENAME COLUMN email TO mail
ALTER TABLE app.users RENAME email_up TO up
ALTER TABLE app.users RENAME TO people2
ALTER TABLE app.people RENAME COLUMN badge TO b
ALTER TABLE app.events_24 RENAME TO e24
ALTER TABLE app.users SET SCHEMA app
ALTER TABLE app.users ALTER COLUMN email TYPE varchar(5)
ALTER TABLE app.users ALTER COLUMN pay TYPE numeric(3)
ALTER TABLE app.users ALTER COLUMN name TYPE text USING email
ALTER TABLE app.users ALTER COLUMN email_up DROP EXPRESSION
ALTER TABLE app.users ADD COLUMN copy text GENERATED ALWAYS AS (lower(email)) STORED
ALTER TABLE app.users ADD CHECK (email LIKE 'z%')
ALTER TABLE app.users ADD CHECK (pay > 5) NOT VALID
ALTER TABLE app.users ADD CHECK (users IS NOT NULL)
ALTER TABLE app.users ADD EXCLUDE (email WITH =)
ALTER TABLE app.users ADD FOREIGN KEY (ssn) REFERENCES app.contacts (email)
ALTER TABLE app.contacts ADD FOREIGN KEY (email) REFERENCES app.users (email) ON UPDATE CASCADE
ALTER TABLE app.contacts ADD COLUMN other text REFERENCES app.users (email)
ALTER TABLE app.staff NO INHERIT app.people
ALTER TABLE app.events DETACH PARTITION app.events_24
CREATE TABLE app.copy AS SELECT email FROM app.users
CREATE TABLE app.copy AS TABLE app.users
CREATE TABLE app.copy AS SELECT * FROM app.users WITH NO DATA
CREATE TABLE app.copy AS SELECT id FROM app.users ORDER BY email
CREATE TABLE app.copy AS SELECT app.mail_of(1)
CREATE TABLE app.copy AS SELECT * FROM app.v_users
CREATE VIEW app.v_copy AS SELECT email FROM app.users
CREATE VIEW app.v_copy AS SELECT u FROM app.users u
CREATE VIEW app.v_copy AS SELECT id FROM app.users WHERE email > 'm'
CREATE VIEW app.v_copy AS SELECT * FROM app.v_users
CREATE MATERIALIZED VIEW app.m_copy AS SELECT lower(email) FROM app.users
CREATE VIEW app.later AS SELECT id, note FROM app.contacts
CREATE INDEX ON app.users (lower(email))
CREATE INDEX ON app.users (id) WHERE email > 'm'
CREATE INDEX ON app.m_users (mail)
ALTER TABLE app.users ADD CHECK (users.record_out::text > 'x')
ALTER TABLE app.users ADD COLUMN copy text GENERATED ALWAYS AS (users.record_out::text) STORED
ALTER TABLE app.users ALTER COLUMN name TYPE text USING users.record_out::text
CREATE INDEX ON app.users ((users.record_out::text))
CREATE INDEX ON app.users (id) WHERE users.record_out::text > 'm'
CREATE VIEW app.v_copy AS SELECT u.row_to_json FROM app.users u
CREATE TABLE app.copy AS SELECT u.row_to_json FROM app.users u
CREATE STATISTICS ON email, name FROM app.users
CREATE TRIGGER t BEFORE UPDATE ON app.users FOR EACH ROW EXECUTE FUNCTION app.tell()
CREATE VIEW app.v_copy AS SELECT u.user_row FROM app.users u
CREATE TABLE app.copy AS SELECT u.user_row FROM app.users u
ALTER TABLE app.users ADD CHECK (users.user_row IS NOT NULL)
CREATE INDEX ON app.users (id) WHERE (users.user_row).email > 'm'
CREATE TABLE app.copy AS SELECT badge FROM app.guests
CREATE VIEW app.v_copy AS SELECT badge FROM app.guests
ALTER TABLE app.guests RENAME badge TO b
ALTER TABLE app.guests ADD CHECK (badge > 'a')
ALTER TABLE app.interns NO INHERIT app.guests
ALTER TABLE app.broken RENAME renamed TO x
ALTER TABLE app.broken ADD COLUMN gone text
OK ALTER TABLE app.users ADD COLUMN extra int DEFAULT 5
OK ALTER TABLE app.users RENAME COLUMN team TO squad
OK ALTER TABLE app.users ALTER COLUMN ssn SET DEFAULT '-'
OK ALTER TABLE app.contacts RENAME COLUMN note TO memo
OK CREATE INDEX ON app.users (email)
OK CREATE TABLE app.names AS SELECT id, name FROM app.users WHERE email IS NOT NULL
OK CREATE VIEW app.v_more AS SELECT id, name FROM app.users
OK DROP VIEW app.v_deep
OK DROP MATERIALIZED VIEW app.m_users
OK COMMENT ON COLUMN app.users.email IS 'masked'
OK CREATE TABLE app.fresh (LIKE app.users)
OK ALTER TABLE app.users DROP COLUMN doc
ALTER TABLE app.users ALTER COLUMN email TYPE public.pair
ALTER TABLE app.users ALTER COLUMN email TYPE public.pair USING email::public.pair
ALTER TABLE app.users ALTER COLUMN name TYPE text USING users.bytea::text
ALTER TABLE app.pairs ALTER COLUMN two TYPE int
ALTER TABLE app.users ADD COLUMN b public.pair GENERATED ALWAYS AS (email) STORED
ALTER TABLE app.users ADD CHECK (users.bytea IS NOT NULL)
ALTER TABLE app.users ADD CHECK (octet_length(users) > 9)
CREATE INDEX ON app.users ((email::public.pair))
CREATE INDEX ON app.users (octet_length(users.bytea))
CREATE VIEW app.v_new AS SELECT u.bytea AS b FROM app.users u
CREATE VIEW app.v_new AS SELECT id, two::int AS n FROM app.pairs
CREATE VIEW app.v_new AS SELECT id FROM app.pairs WHERE two > 4
CREATE MATERIALIZED VIEW app.m_new AS SELECT encode(u, 'escape') AS b FROM app.users u
CREATE TABLE app.c_new AS SELECT encode(u, 'escape') AS b FROM app.users u
CREATE TABLE app.c_new AS SELECT u.tsvector AS b FROM app.users u

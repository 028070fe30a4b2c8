-- The world of the crash test: in every table it can be counted how often a change was made, and
-- nothing but the product keeps one from being made twice.
CREATE SCHEMA app AUTHORIZATION migrator;
SET ROLE migrator;

-- No key: two inserts would stand there twice.
CREATE TABLE app.ins (n integer NOT NULL, part integer NOT NULL);
CREATE TABLE app.upd (n integer NOT NULL, part integer NOT NULL, times integer NOT NULL DEFAULT 0, PRIMARY KEY (n, part));
CREATE TABLE app.del (n integer NOT NULL, part integer NOT NULL, PRIMARY KEY (n, part));
-- What went from del, by a trigger: what the agent did not ask for shares the fate of what it did.
CREATE TABLE app.gone (n integer NOT NULL, part integer NOT NULL);
CREATE FUNCTION app.note_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO app.gone VALUES (OLD.n, OLD.part);
  RETURN OLD;
END $$;
CREATE TRIGGER note_gone AFTER DELETE ON app.del FOR EACH ROW EXECUTE FUNCTION app.note_gone();
RESET ROLE;

INSERT INTO app.upd (n, part) SELECT n, part FROM generate_series(1, 3000) n, generate_series(1, 2) part;
INSERT INTO app.del (n, part) SELECT n, part FROM generate_series(1, 3000) n, generate_series(1, 2) part;
ANALYZE;

#!/bin/sh
# Runs in the container only, after the .sql files (docker-compose.yml mounts this directory into
# /docker-entrypoint-initdb.d). Gives the two login roles the passwords of the container's
# environment. The SQL files set none, so without this nobody can log in as them.
set -eu
: "${READONLY_PASSWORD:?set READONLY_PASSWORD in the environment of the container}"
: "${WRITER_PASSWORD:?set WRITER_PASSWORD in the environment of the container}"
# psql quotes them (:'name'); they are not in arguments, which everybody can see.
psql -X -q -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\set readonly_password `printf %s "$READONLY_PASSWORD"`
\set writer_password `printf %s "$WRITER_PASSWORD"`
ALTER ROLE readonly PASSWORD :'readonly_password';
ALTER ROLE writer PASSWORD :'writer_password';
SQL

#!/bin/sh
# Makes sure that there is a Postgres server (14 to 18) whose binaries the tests and the demo can
# start. Looks first, installs only if there is none, and never starts or changes a server.
#
#   setup-postgres.sh          look, else install
#   setup-postgres.sh --check  look only
set -eu
cd "$(dirname "$0")"
. ./install.sh

# The same places as in internal/pgtemp/find.go; a test holds the two lists equal.
PLACES='
/usr/lib/postgresql/*/bin
/usr/pgsql-*/bin
/usr/libexec/postgresql*
/opt/homebrew/opt/postgresql*/bin
/usr/local/opt/postgresql*/bin
/home/linuxbrew/.linuxbrew/opt/postgresql*/bin
/Applications/Postgres.app/Contents/Versions/*/bin
/opt/local/lib/postgresql*/bin
/usr/local/pgsql/bin
'

usable() { # a directory with initdb and a postgres of a version that is supported
  [ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
  major=$("$1/postgres" --version 2>/dev/null | sed -n 's/.*(PostgreSQL) \([0-9]*\).*/\1/p')
  [ -n "$major" ] && [ "$major" -ge 14 ] && [ "$major" -le 18 ]
}

find_postgres() {
  if initdb=$(command -v initdb 2>/dev/null) && usable "$(dirname "$(readlink -f "$initdb" 2>/dev/null || echo "$initdb")")"; then
    dirname "$(readlink -f "$initdb" 2>/dev/null || echo "$initdb")"
    return 0
  fi
  for dir in $PLACES; do # unquoted: the patterns are expanded
    if usable "$dir"; then
      echo "$dir"
      return 0
    fi
  done
  return 1
}

if [ -n "${SW_TEST_POSTGRES_URL:-}" ]; then
  say "Postgres: SW_TEST_POSTGRES_URL is set; the tests use that cluster, the demo needs binaries all the same."
fi
if [ -n "${SW_TEST_POSTGRES_BIN:-}" ]; then
  if usable "$SW_TEST_POSTGRES_BIN"; then
    say "Postgres: $SW_TEST_POSTGRES_BIN (SW_TEST_POSTGRES_BIN)"
    exit 0
  fi
  say "SW_TEST_POSTGRES_BIN=$SW_TEST_POSTGRES_BIN holds no initdb and postgres of version 14 to 18."
  exit 1
fi
if [ "${SW_TEST_POSTGRES_DOCKER:-}" = 1 ]; then
  say "Postgres: SW_TEST_POSTGRES_DOCKER=1, so Docker is used."
  exit 0
fi
if dir=$(find_postgres); then
  say "Postgres: $dir"
  exit 0
fi
if [ "${1:-}" = --check ]; then
  say "Postgres: no server binaries (initdb, postgres) of version 14 to 18 found. \`make setup\` installs them."
  exit 1
fi

say "No Postgres server binaries found. Installing them; no server will be started."
ok=0
if command -v brew >/dev/null 2>&1; then
  say "+ brew install postgresql@16"
  brew install postgresql@16 || ok=$?
elif command -v apt-get >/dev/null 2>&1; then
  # Debian's package makes and starts a cluster on port 5432 unless it is told not to.
  conf=/etc/postgresql-common/createcluster.conf
  apt_install postgresql-common || ok=$?
  if [ "$ok" = 0 ] && ! grep -qs '^create_main_cluster *= *false' "$conf"; then
    as_root sh -c "echo 'create_main_cluster = false' >>$conf" || ok=$?
  fi
  [ "$ok" != 0 ] || apt_install postgresql || ok=$?
elif command -v dnf >/dev/null 2>&1; then
  as_root dnf install -y postgresql-server || ok=$?
else
  say "No package manager known here (apt-get, dnf, brew). Install the Postgres server, 14 to 18, by hand."
  ok=1
fi

if dir=$(find_postgres); then
  say "Postgres: $dir"
  exit 0
fi
if docker version >/dev/null 2>&1; then
  say "Postgres: none installed, but Docker answers; tests and demo will run postgres:16-alpine in it."
  exit 0
fi
[ "$ok" != 0 ] || say "The package was installed, but it holds no server of version 14 to 18."
exit 1

#!/bin/sh
# Makes sure that there is a PgBouncer for the tests behind a pooler (`make test-pgbouncer`). Looks first;
# what it installs is not started: the tests start their own, with a configuration of their own.
set -eu
cd "$(dirname "$0")"
. ./install.sh

find_pgbouncer() {
  if [ -n "${SW_TEST_PGBOUNCER:-}" ]; then
    [ -x "$SW_TEST_PGBOUNCER" ] && echo "$SW_TEST_PGBOUNCER"
    return
  fi
  for path in pgbouncer /usr/sbin/pgbouncer; do # Debian puts it where a user's PATH may not lead
    if command -v "$path" 2>/dev/null; then return 0; fi
  done
  return 1
}

if path=$(find_pgbouncer); then
  say "PgBouncer: $path"
  exit 0
fi
if [ -n "${SW_TEST_PGBOUNCER:-}" ]; then
  say "SW_TEST_PGBOUNCER=$SW_TEST_PGBOUNCER cannot be run."
  exit 1
fi
if [ "${1:-}" = --check ]; then
  say "PgBouncer: none found. \`make setup-pgbouncer\` installs it."
  exit 1
fi

say "No PgBouncer found. Installing it for the tests behind a pooler; it will not be started."
if command -v brew >/dev/null 2>&1; then
  say "+ brew install pgbouncer"
  brew install pgbouncer
elif command -v apt-get >/dev/null 2>&1; then
  # Debian's package starts a service unless something in the way says no.
  policy=/usr/sbin/policy-rc.d
  if [ -e "$policy" ]; then
    apt_install pgbouncer
  else
    as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy"
    apt_install pgbouncer || { as_root rm -f "$policy"; exit 1; }
    as_root rm -f "$policy"
  fi
elif command -v dnf >/dev/null 2>&1; then
  as_root dnf install -y pgbouncer
else
  say "No package manager known here (apt-get, dnf, brew). Install PgBouncer by hand, or set SW_TEST_PGBOUNCER."
  exit 1
fi
path=$(find_pgbouncer) || { say "It was installed, but is not to be found; set SW_TEST_PGBOUNCER to its path."; exit 1; }
say "PgBouncer: $path"

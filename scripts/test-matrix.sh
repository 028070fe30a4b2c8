#!/bin/sh
# Runs tests against other versions of Postgres, one after the other, and prints a table: a line per
# version, with the server's own word for it. Exit code 1: something failed, or a version was not to be had.
#
#   test-matrix.sh                          everything on each of MAJORS
#   test-matrix.sh -run NAME ./internal/…   what `go test` takes, in place of "./..."
#
# MAJORS        the versions (14 15 16 17 18)
# OFFLINE=skip  a version that is neither in the cache nor can be fetched is reported as NOT RUN and is
#               no failure: for machines without the registry
set -u
cd "$(dirname "$0")/.."
. scripts/install.sh

MAJORS=${MAJORS:-14 15 16 17 18}
[ $# -gt 0 ] || set -- -timeout 40m ./...
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
failed=0
table=$logs/table

for major in $MAJORS; do
  began=$(date +%s)
  if found=$(scripts/setup-postgres-versions.sh "$major"); then
    SW_TEST_POSTGRES_BIN=${found#* }
    name=$("$SW_TEST_POSTGRES_BIN/postgres" --version)
    say "== $name"
  else
    printf '%-34s NOT RUN: there are no binaries of it here\n' "Postgres $major" >>"$table"
    [ "${OFFLINE:-}" = skip ] || failed=1
    continue
  fi
  export SW_TEST_POSTGRES_BIN
  { go test -race "$@" 2>&1 || : >"$logs/$major.failed"; } | tee "$logs/$major"
  if [ -e "$logs/$major.failed" ]; then
    verdict=FAILED
    failed=1
  else
    verdict=passed
  fi
  printf '%-34s %s: %s packages ok, %s failed; %s s\n' "$name" "$verdict" \
    "$(grep -c '^ok ' "$logs/$major")" "$(grep -c '^FAIL	' "$logs/$major")" "$(($(date +%s) - began))" >>"$table"
done
printf '\n'
cat "$table"
if grep -q 'NOT RUN' "$table"; then
  say ''
  say 'NOT EVERY VERSION WAS RUN. What is marked above was not tested at all.'
fi
exit "$failed"

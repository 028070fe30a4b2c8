#!/bin/sh
# Fetches axe-core, the accessibility checker that the tests of the approval page run in the browser. It
# goes into a cache outside the checkout; nothing of it is shipped. Prints the path of axe.min.js.
set -eu
cd "$(dirname "$0")"
. ./install.sh

version=4.10.2
sha512='RE3mdQ7P3FRSe7eqCWoeQ/Z9QXrtniSjp1wUjt5nRC3WIpz5rSCve6o3fsZ2aCpJtrZjSZgjwXAoTO5k4tEI0w=='
dir="${XDG_CACHE_HOME:-$HOME/.cache}/sw-postgres-mcp/axe-core-$version"

if [ ! -f "$dir/axe.min.js" ]; then
  if [ "${1:-}" = --check ]; then
    say "axe-core: not there. \`make setup-axe\` fetches it."
    exit 1
  fi
  need_npm axe-core
  mkdir -p "$dir"
  work=$(mktemp -d "$dir/fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && npm pack --silent "axe-core@$version" >/dev/null)
  got=$(openssl dgst -sha512 -binary "$work/axe-core-$version.tgz" | openssl base64 -A)
  if [ "$got" != "$sha512" ]; then
    say "axe-core $version is not the one that was pinned: $got"
    exit 1
  fi
  tar -xzf "$work/axe-core-$version.tgz" -C "$work" package/axe.min.js package/LICENSE
  mv "$work/package/LICENSE" "$dir/LICENSE"
  mv "$work/package/axe.min.js" "$dir/axe.min.js"
fi
say "axe-core: $dir"
printf '%s\n' "$dir/axe.min.js"

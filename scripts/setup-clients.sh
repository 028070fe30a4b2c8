#!/bin/sh
# Fetches the MCP clients that `make test-clients` drives: tests/clients/package-lock.json pins each package,
# with those it stands on, to the hash of its content, and npm compares them. They go into a cache outside the
# checkout; no script of theirs runs, nothing of them is shipped. Prints the directory.
set -eu
cd "$(dirname "$0")"
. ./install.sh

pins=../tests/clients
needs=20 # the major version of Node.js that the newest of them asks for
dir="${XDG_CACHE_HOME:-$HOME/.cache}/sw-postgres-mcp/clients-$(cat "$pins/package.json" "$pins/package-lock.json" | cksum | cut -d' ' -f1)"

if [ ! -d "$dir/node_modules" ]; then
  if [ "${1:-}" = --check ]; then
    say "MCP clients: not there. \`make setup-clients\` fetches them."
    exit 1
  fi
  need_npm 'the MCP clients'
fi
version=$(node --version 2>/dev/null || echo none)
if [ "$(printf '%s' "$version" | sed 's/^v\([0-9]*\).*/\1/')" -ge "$needs" ] 2>/dev/null; then :; else
  say "The MCP clients need Node.js $needs or newer, and what is here is: $version. Install it (a package of your system, or nodejs.org)."
  exit 1
fi
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$(dirname "$dir")"
  work=$(mktemp -d "$dir.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cp "$pins/package.json" "$pins/package-lock.json" "$work"
  (cd "$work" && npm ci --silent --ignore-scripts --no-audit --no-fund >&2)
  rm -rf "$dir"
  mv "$work" "$dir" # whole or not at all: another run may look at the same time
fi
say "MCP clients: $dir"
printf '%s\n' "$dir"

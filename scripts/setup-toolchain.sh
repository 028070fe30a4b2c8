#!/bin/sh
# Says what is missing to build: Go, and a C compiler for Postgres' own parser.
set -u
missing=0
if ! command -v go >/dev/null 2>&1; then
  echo "Go is missing. Version 1.26 or newer: https://go.dev/dl/ or the system's package." >&2
  missing=1
fi
# A Go that is older than 1.21 cannot even read go.mod; later ones fetch the version it asks for.
case "$(go env GOVERSION 2>/dev/null)" in
  go1.1[0-9]* | go1.20* | go1.[0-9] | go1.[0-9].*)
    echo "$(go env GOVERSION) is too old: 1.26 or newer is needed, from https://go.dev/dl/" >&2
    missing=1
    ;;
esac
cc=$(go env CC 2>/dev/null || true)
if ! command -v "${cc:-cc}" >/dev/null 2>&1; then
  echo "A C compiler is missing (${cc:-cc}). Debian, Ubuntu: sudo apt-get install gcc · Fedora: sudo dnf install gcc · macOS: xcode-select --install" >&2
  missing=1
fi
exit $missing

#!/bin/sh
# Copies into testdata/fuzz/<Target>/ those inputs of Go's fuzz cache that run code which neither the
# seeds nor the inputs kept so far do, the shortest first. usage: scripts/fuzz-keep.sh PACKAGE TARGET...
set -eu
package=$1
shift
cache=$(go env GOCACHE)/fuzz/$(go list "$package")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -cover -coverpkg="$package" -o "$work/run" "$package"
cd "$package"

# covered TARGET: the blocks that its seeds and kept inputs run.
covered() {
  "$work/run" -test.run "^$1\$" -test.coverprofile "$work/profile" >/dev/null
  awk 'NR > 1 && $3 > 0 { print $1 }' "$work/profile" | sort -u
}

for target in "$@"; do
  kept=testdata/fuzz/$target
  mkdir -p "$kept"
  covered "$target" >"$work/have"
  before=$(wc -l <"$work/have")
  [ -d "$cache/$target" ] || { echo "$target: nothing in the cache" >&2; rmdir "$kept" 2>/dev/null || true; continue; }
  # Only what is short is worth a file; a thousand characters hold any finding.
  find "$cache/$target" -type f -size -3 -printf '%s %f\n' | sort -n | while read -r _ name; do
    [ -e "$kept/$name" ] && continue
    cp "$cache/$target/$name" "$kept/$name"
    "$work/run" -test.run "^$target/$name\$" -test.coverprofile "$work/profile" >/dev/null || {
      echo "$target: $kept/$name fails" >&2
      continue
    }
    awk 'NR > 1 && $3 > 0 { print $1 }' "$work/profile" | sort -u >"$work/one"
    if [ -n "$(comm -23 "$work/one" "$work/have")" ]; then
      sort -u "$work/one" "$work/have" >"$work/both"
      mv "$work/both" "$work/have"
    else
      rm "$kept/$name"
    fi
  done
  rmdir "$kept" 2>/dev/null || true
  echo "$target: $before blocks with the seeds and what was kept, $(wc -l <"$work/have") now"
done

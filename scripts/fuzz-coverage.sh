#!/bin/sh
# Prints how much of a package each fuzz target runs with its seeds alone, and with the inputs that are
# kept in testdata/fuzz, and both over all targets. usage: scripts/fuzz-coverage.sh PACKAGE
set -eu
package=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -cover -coverpkg="$package" -o "$work/run" "$package"
cp -R "$package/testdata" "$work/"
cp -R "$package/testdata" "$work/with"
rm -rf "$work/testdata/fuzz"
targets=$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$package"/*_test.go | sort)

# share PATTERN: the percentage that the targets of that name run, in the present testdata.
share() {
  (cd "$work" && ./run -test.run "$1" -test.coverprofile profile >/dev/null)
  awk 'NR > 1 { all += $2; if ($3 > 0) run += $2 } END { printf "%.2f %d", 100 * run / all, run }' "$work/profile"
}

measure() {
  for target in $targets; do
    echo "$target $(share "^$target\$")"
  done
  echo "all $(share '^Fuzz')"
}

measure >"$work/seeds"
rm -rf "$work/testdata" && mv "$work/with" "$work/testdata"
measure >"$work/kept"
for target in $targets; do
  n=$(find "$work/testdata/fuzz/$target" -type f 2>/dev/null | wc -l)
  echo "$target $n" >>"$work/count"
done
awk '
  FILENAME ~ /seeds$/ { share[$1] = $2; run[$1] = $3; next }
  FILENAME ~ /count$/ { n[$1] = $2; total += $2; next }
  { printf "%-18s seeds %6.2f %%   with %3d kept inputs %6.2f %%   (%+d statements)\n", $1, share[$1], $1 == "all" ? total : n[$1], $2, $3 - run[$1] }
' "$work/seeds" "$work/count" "$work/kept"

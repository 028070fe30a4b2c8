#!/bin/sh
# Makes sure that the pinned golangci-lint is in $(go env GOPATH)/bin. Building it takes up to
# five minutes, once. $1 is the version.
set -eu
version=$1
bin=$(go env GOPATH)/bin
if [ -x "$bin/golangci-lint" ] && go version -m "$bin/golangci-lint" 2>/dev/null | grep -q "golangci-lint/v2[[:space:]]*$version[[:space:]]"; then
  exit 0
fi
echo "Installing golangci-lint $version into $bin (built from source, a few minutes)" >&2
# The environment's own flags for this module (GOFLAGS, GOARCH …) are not for building a tool.
exec env GOBIN="$bin" GOFLAGS= GOOS= GOARCH= go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"

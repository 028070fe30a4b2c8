# `make` lists the targets. Everything goes into bin/ and dist/; nothing else in the tree changes.

GOLANGCI_VERSION := v2.15.0

# AUTO=1 decides by itself in the demo. FUZZTIME is per fuzz target. ARCH is the release's processor. RUN picks
# among the tests of test-clients.
AUTO     ?=
FUZZTIME ?= 60s
ARCH     ?= $(shell go env GOARCH)
RUN      ?= ^TestClients

.DEFAULT_GOAL := help
.PHONY: help setup setup-toolchain setup-postgres setup-browser setup-axe screenshots setup-pgbouncer setup-lint build test lint fmt demo bench crash fuzz fuzz-keep fuzz-coverage mutants test-matrix test-pgbouncer test-faults setup-clients test-clients nightly release clean

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: setup-toolchain setup-postgres ## install what is missing: a Postgres to start (apt-get, dnf, brew)

setup-toolchain:
	@scripts/setup-toolchain.sh

setup-postgres: setup-toolchain
	@scripts/setup-postgres.sh

setup-browser: ## install a Chromium for the tests of the approval page, if there is none
	@scripts/setup-browser.sh

setup-axe: ## fetch axe-core, which the tests of the approval page run in the browser (npm, into a cache)
	@scripts/setup-axe.sh >/dev/null

screenshots: setup-browser ## the pictures of the approval page in docs/img
	@mkdir -p docs/img
	SW_SCREENSHOTS="$(CURDIR)/docs/img" go test -race -count=1 -run '^TestScreenshots$$' ./internal/approvalui

setup-lint: setup-toolchain
	@scripts/setup-lint.sh $(GOLANGCI_VERSION)

build: setup-toolchain ## build bin/sw-postgres-mcp (the first time takes about two minutes: the parser is C)
	go build -o bin/ ./cmd/sw-postgres-mcp

test: setup-postgres setup-browser setup-axe ## every test, on a real Postgres and a real browser, with the race detector
	go test -race -timeout 20m ./...

setup-pgbouncer: ## install a PgBouncer for the tests behind a pooler, if there is none
	@scripts/setup-pgbouncer.sh

test-matrix: setup-toolchain setup-browser ## every test against each of Postgres 14 to 18; MAJORS="14 18" picks, fetched once into a cache
	@scripts/test-matrix.sh

test-pgbouncer: setup-postgres setup-pgbouncer ## behind a real PgBouncer, in transaction and in session mode
	go test -race -tags pooler -count=1 -timeout 10m -run '^TestPooler' ./tests

test-faults: setup-postgres ## losing the database in every way: down, killed, restarted, silent, failed over, slow to notice
	go test -race -tags faults -count=1 -timeout 15m -run '^TestFault' ./tests

setup-clients: setup-toolchain ## fetch the MCP clients that test-clients drives (npm, pinned, into a cache); needs Node.js 20
	@scripts/setup-clients.sh >/dev/null

test-clients: setup-postgres setup-clients ## real MCP clients of every protocol version; RUN=regexp picks tests
	go test -race -tags clients -count=1 -timeout 10m -run '$(RUN)' ./tests

lint: setup-lint ## golangci-lint, pinned; also holds the arrows between the packages
	"$$(go env GOPATH)/bin/golangci-lint" run --allow-serial-runners ./...

fmt: setup-lint ## format the Go code
	"$$(go env GOPATH)/bin/golangci-lint" fmt ./...

demo: setup-postgres build ## a throw-away Postgres, the page and a guided tour; AUTO=1 decides by itself
	bin/sw-postgres-mcp demo $(if $(filter-out 0,$(AUTO)),--auto)

bench: setup-postgres setup-browser ## ratios against the bare statement, round trips, and the page's times; SW_BENCH_ROUNDS=n pairs (21)
	go test -tags bench -p 1 -count=1 -timeout 20m -v -run '^TestBench' ./tests/bench ./internal/approvalui ./tests

crash: setup-postgres ## kill the program, its connection and its Postgres at every point of a write; SW_CRASH_DEATHS=n (216)
	go test -race -tags crash -count=1 -timeout 40m -v -run '^TestCrash' ./tests

fuzz: setup-toolchain ## run every fuzz target for FUZZTIME (60s) each
	@grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
			echo "== $$target in $$(dirname "$$file")"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$(dirname "$$file")" || exit 1; \
		done; \
	done

fuzz-keep: setup-toolchain ## keep of what `make fuzz` found for the guard whatever runs more of its code
	@scripts/fuzz-keep.sh ./internal/sqlguard $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' internal/sqlguard/*_test.go)

fuzz-coverage: setup-toolchain ## how much of the guard the fuzz targets run: seeds alone, and with what is kept
	@scripts/fuzz-coverage.sh ./internal/sqlguard

mutants: setup-postgres ## break the product on purpose, one line at a time; each must be caught by the test named for it (SW_MUTANTS=regexp picks)
	go test -tags mutants -count=1 -timeout 4h -v ./tests/mutants

nightly: setup-postgres fuzz mutants test-matrix test-clients ## what takes hours: 10,000 random lives of plans, 16 agents x 200 plans, every fuzz target, mutant, Postgres and client
	go test -race -count=1 -timeout 1h -run '^TestModel$$' ./internal/writecore/plan -rapid.checks=10000
	SW_TEST_PLANS=200 go test -race -count=1 -timeout 1h -v -run '^TestAgentsAgainstOneAnother$$' ./internal/writecore

release: setup-toolchain ## one static Linux binary in dist/, with its checksum; ARCH=arm64 CC=… for another processor
	@test "$$(go env GOHOSTOS)" = linux || { echo "A static Linux binary is built on Linux (use the Dockerfile elsewhere)." >&2; exit 1; }
	@mkdir -p dist
	CGO_ENABLED=1 GOOS=linux GOARCH=$(ARCH) go build -trimpath -tags netgo,osusergo \
		-ldflags '-s -w -linkmode external -extldflags "-static"' \
		-o dist/sw-postgres-mcp-linux-$(ARCH) ./cmd/sw-postgres-mcp
	cd dist && sha256sum sw-postgres-mcp-linux-$(ARCH) >sw-postgres-mcp-linux-$(ARCH).sha256

clean: ## remove bin/ and dist/
	rm -rf bin dist

# Everything a newcomer needs. `make run` starts Ostiary, `make test` checks all of it, `make demo` tells the story in the terminal.
SHELL   := /bin/bash
GO      ?= go
TAGS    := nomsgpack
LDFLAGS := -s -w -X ostiary.Version=$(shell git describe --always --dirty 2>/dev/null || echo dev)
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)'
SHARED  ?= ../shared
# Packages with goroutines of their own: these run under the race detector too.
RACE    := ./agent/... ./audit/... ./client/... ./decision/rego ./decision/shadow ./decision/workbench/draft ./enforce/... ./internal/localdb/... ./queue/... ./sanitize ./web/...

.PHONY: run build test test-go test-race setup demo eval bench bench-decision lint fmt ui clean help

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build and start sidecar serve on embedded defaults
	@./bin/sidecar serve

build: ## build bin/sidecar and bin/ostiary-hook
	@$(BUILD) -o bin/sidecar ./cmd/sidecar
	@$(BUILD) -o bin/ostiary-hook ./cmd/ostiary-hook

setup: ## install what the tests need (Debian packages, npm servers)
	@./scripts/setup

test: setup test-go test-race ## everything: what CI runs

test-go:
	@$(GO) vet -tags $(TAGS) ./...
	@sh web/build.sh -check
	@$(GO) test -tags $(TAGS) -timeout 15m ./...

test-race:
	@CGO_ENABLED=1 $(GO) test -race -short -tags $(TAGS) -timeout 15m $(RACE)

demo: build ## a poisoned page, a secret, a reviewer: the story in two minutes
	@$(GO) run ./examples/demo

eval: build ## score the sanitizer on the development sets (needs shared/ beside the repository)
	@./scripts/eval $(SHARED)

bench: ## benchmarks of every package
	@$(GO) test -run '^$$' -bench . -benchtime 1s $$($(GO) list ./... | grep -v /test/)

bench-decision: build ## decisions over loopback beside a bare echo and opa run -s: p50, p99, idle memory
	@OPA=$$(./scripts/opa) $(GO) run -tags $(TAGS) ./test/bench

lint: ## linters, from their own module
	@cd tools/lint && $(GO) build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@./bin/golangci-lint run --build-tags $(TAGS) ./...

fmt: ## format Go and Rego
	@gofmt -w $$(git ls-files '*.go')

ui: ## rebuild the console's assets
	@./web/build.sh

clean: ## remove what was built
	@rm -rf bin

# Lockstep. `make help` lists what there is; `make demo` and `make test` are the
# two commands that a newcomer needs.

SHELL := /bin/bash
GO ?= go
export CGO_ENABLED ?= 0
PKGS := ./...
# The race detector needs cgo on Linux; the product itself does not.
RACE := CGO_ENABLED=1 $(GO) test -race

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.PHONY: demo
demo: page ## everything to a running demo on 127.0.0.1:8888, with the scripted model
	@./scripts/demo.sh

.PHONY: build
build: ## the binary, in bin/
	$(GO) build -o bin/lockstep ./cmd/lockstep

.PHONY: page
page: ## the web page, and the binary with it; needs Node
	./scripts/page.sh
	$(GO) build -o bin/lockstep ./cmd/lockstep

.PHONY: browser-test
browser-test: ## only the page's tests, in Chromium
	./scripts/browser.sh

.PHONY: clients-js
clients-js: ## the npm package @lockstep-go/client, tested and packed into clients/js
	./scripts/clients-js.sh

.PHONY: test
test: ## everything that CI runs: packages, services and Node included
	./scripts/test.sh

.PHONY: test-go
test-go: ## only the Go tests, with the race detector
	$(RACE) $(PKGS)

.PHONY: test-interop
test-interop: build ## only the tests with the official JavaScript client
	./scripts/interop.sh

.PHONY: test-copilotkit
test-copilotkit: ## only the tests with a CopilotKit page and runtime; 800 MB of packages
	./scripts/copilotkit.sh

.PHONY: test-long
test-long: ## the long versions: more seeds, more schedules, longer fuzzing
	LOCKSTEP_LONG=1 ./scripts/test.sh
	./scripts/fuzz.sh 60s

.PHONY: fuzz
fuzz: ## every fuzz target for a short time
	./scripts/fuzz.sh 15s

.PHONY: lint
lint: ## gofmt, vet, staticcheck, and that go.mod is tidy
	./scripts/lint.sh

.PHONY: bench
bench: ## speed as ratios against peers, in one run
	cd bench && $(GO) run .

.PHONY: golden
golden: ## write the golden conversations anew; look at the difference before you commit it
	$(GO) test ./server -run TestGolden$$ -update

.PHONY: clean
clean: ## what the other targets made
	rm -rf bin playground/dist/www playground/shots clients/js/dist clients/js/*.tgz

# make run       builds and starts everything on this machine, with an example
# make test      builds and runs every test that a change must not break
# make test-all  also runs sweeps and long experiments
# make check     what CI runs: lint, tests
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run package release torture bench conformance simulate fuzz test test-all test-build check build format lint clean packages cost

# One debug build serves everything, with all that may be left out of others; imports that a target does not declare are
# errors. It has no editor's index and no debug information, which cost time in each build: whoever debugs builds with
# `make DEBUG_INFO=1 …`, all again.
SWIFT_FLAGS := --explicit-target-dependency-import-check error --traits Geo --disable-xctest
SWIFT_FLAGS += $(if $(DEBUG_INFO),,--disable-index-store -debug-info-format none)
PROGRAM := .build/debug/pinledger
TEST_PACKAGES := --tests
# The formatter holds every file open that it is given: shells allow 1024.
SWIFT_FILES := find Package.swift Sources Tests -name '*.swift' -print0
# The recipes' own Python is a virtual environment; Swift prints colours only to people.
export PINLEDGER_BIN ?= $(CURDIR)/$(PROGRAM)

help: ## Shows this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

run: build ## Builds and starts a private database and a server, with an example
	@exec $(PROGRAM) dev --example deploy/example/ssl_pinning_config.json --app com.example.app

package: packages ## Builds the Debian package of a release, with its symbols and the bill of its parts, in dist
	deploy/package/build

release: ## Builds and signs all files of a release in dist (REHEARSE=1: of what is no release)
	@deploy/install-packages --release
	deploy/release/build $(if $(REHEARSE),--rehearse)

test: test-build ## Builds and runs every test that a change must not break
	Tests/run

test-all: TEST_PACKAGES := --all-tests
test-all: lint test-build ## Also runs sweeps over all operations, real time, packages, all faults, each loop at full depth
	Tests/run --all

check: lint test ## What CI runs

# The program and nothing else: no test's helper, no benchmark.
build: packages
	swift build --product pinledger $(SWIFT_FLAGS)

test-build:
	@deploy/install-packages $(TEST_PACKAGES)
	swift build --build-tests $(SWIFT_FLAGS)

packages:
	@deploy/install-packages

torture: build ## Runs the fault experiments, each with a broken variant that must be seen
	swift build --product LedgerLoad $(SWIFT_FLAGS)
	Tests/Torture/run

# Benchmarks, a simulation and a fuzzer are targets for those who set this variable: others build them in vain.
MEASURING := PINLEDGER_MEASURE=1

bench: packages ## Measures side by side with nginx and pgbench, in release configuration
	for product in pinledger AppendBench LedgerLoad ProbeBench AccessBench EvaluateBench ClientBench; do \
		$(MEASURING) swift build -c release --scratch-path .build-release --product $$product || exit; \
	done
	PINLEDGER_BIN=$(CURDIR)/.build-release/release/pinledger Tests/Benchmarks/run

cost: ## Counts the instructions of fixed work, and compares them with the committed figures
	@deploy/install-packages --tests
	Tests/Cost/run

# The clients of the kit and the server's own documents against the library; the vectors are written again.
CONFORMANCE := .build/debug/ConformanceGenerator

conformance: build ## Writes the conformance vectors, and compares the kit's clients with the library on 140,000 random cases
	swift build $(SWIFT_FLAGS) --product ConformanceGenerator
	$(CONFORMANCE) vectors Tests/Conformance/vectors
	PINLEDGER_CONFORMANCE=20000,100000,20000 Tests/EndToEnd/run Tests/EndToEnd/test_conformance_kit.py -q -s

simulate: packages ## Plays installs to the detectors, beside the figures that are published of them
	$(MEASURING) swift build -c release --scratch-path .build-release --product DetectorSimulation
	.build-release/release/DetectorSimulation

# Another seed makes other inputs; the input that was being read when it failed is in .build-fuzz/input.reader, the seed of
# a connection in .build-fuzz/input.reader.frames, or for certificates the input in .build-fuzz/input, and that is made again
# with `--only INDEX`. The quarantine is small so that memory that grows is seen. `make test` reads the first inputs of each
# kind.
FUZZ_COUNT ?= 120000
FUZZ_SEED ?= 1

fuzz: packages ## Reads damaged inputs of every kind: certificates and keys under AddressSanitizer, all others in the tests' build
	swift build --build-tests $(SWIFT_FLAGS)
	mkdir -p .build-fuzz
	FUZZ_COUNT=$$(($(FUZZ_COUNT) / 20)) FUZZ_SEED=$(FUZZ_SEED) FUZZ_SAVE=.build-fuzz/input.reader \
		swift test --skip-build --disable-xctest --enable-swift-testing --filter 'HostileInputTests|FastPathFuzzTests'
	$(MEASURING) swift build -c release --sanitize address --scratch-path .build-fuzz --product KeyFilesFuzz
	ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=16 .build-fuzz/release/KeyFilesFuzz \
		Tests/KeyFilesTests/Vectors --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --save .build-fuzz/input

lint: packages ## Refuses what the formatter would change, and what is wrong in files: contract, handbook, manifests, words, tests
	@$(SWIFT_FILES) | xargs -0 -n 250 swift format lint --strict --parallel
	@Tests/Lint/run --quiet

format: ## Formats all Swift code
	@$(SWIFT_FILES) | xargs -0 -n 250 swift format --in-place --parallel

clean: ## Removes what was built
	swift package clean
	rm -rf .build-release .build-fuzz .build-package dist

# verifygate from a bare Python: `make gate` audits reference_impl, `make test` lints and tests.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV  := .venv
BIN   := $(VENV)/bin
READY := $(VENV)/.ready
RECENT = import sys; sys.exit(sys.version_info < (3, 11))

# A mark expression of pytest. Empty stands for every test: so CI runs it.
TESTS ?= not slow
# Processes that the tests are shared out to, a file at a time. 0: none but pytest's own.
WORKERS ?= 2

# What `make primer` does: compare or fix. ONLY names some of the packages, BASE a revision to compare with.
DO ?= compare

# Looked up only when the environment has to be built. Override: make PYTHON=/path/to/python ...
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python; do \
	$$python -I -c '$(RECENT)' 2>/dev/null && echo $$python && break; done)

# The witness that `make twin` asks: a module of tests/twin.
WITNESS ?= lowered

# What `make fuzz` is given: seconds of all targets together, names of targets (all where it is empty).
SECONDS ?= 600
TARGETS ?=

# What `make release-watch` looks at: VERSION, a release whose wheel is read, or WATCHED, an interpreter with its torch.
VERSION ?=
WATCHED ?=

.PHONY: help setup gate gallery gpu gpu-bundle test lint reports docs bench fuzz primer twin release-watch clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/make \1\t\2/p' Makefile | expand -t 20

setup: $(READY) ## build the environment in .venv (done by itself when it is needed)

gate: $(READY) ## audit reference_impl; reports in reports/latest
	@$(BIN)/python -I -m verifygate run --stage all

gallery: $(READY) ## audit the loops of reference_impl/gallery; reports in reports/latest/gallery
	@$(BIN)/python -I -m verifygate run --stage static --stage execution --config verifygate.gallery.toml --report-dir reports/latest/gallery

gpu: $(READY) ## on a CUDA machine: the gpu-marked tests and the records of reference_impl, in tables
	@$(BIN)/python -I -c 'import torch; torch.cuda.is_available() or exit("no CUDA device here: nothing to measure")'
	@$(BIN)/python tests/performance/gpu_table.py

gpu-bundle: $(READY) ## all that a CUDA machine needs for `make gpu` without a network, in build/gpu-bundle
	@$(BIN)/python tests/performance/gpu_bundle.py

test: lint ## lint, then run the tests but for the slow ones (all: make test TESTS=); pytest's closing line comes last
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m '$(TESTS)'

lint: $(READY) ## ruff, mypy, import contracts
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

reports: $(READY) ## refresh the committed example in reports/reference_impl
	@$(BIN)/python -I -m verifygate run --stage all --fresh --report-dir reports/reference_impl

docs: $(READY) ## build the documentation as a site in build/site; a dead link or anchor is an error
	@$(BIN)/python tests/build_site.py build/site

bench: $(READY) ## time the gate itself (pytest-benchmark)
	@$(BIN)/python -m pytest -o addopts= --benchmark-only

fuzz: $(READY) ## search for inputs that break a property, for SECONDS=600; finds go to tests/fuzz/crashes
	@$(BIN)/python tests/fuzz/campaign.py --seconds $(SECONDS) $(TARGETS)

primer: $(READY) ## compare the findings on pinned packages with those of BASE=REV (fixes: make primer DO=fix)
	@PYTHONPATH=tests $(BIN)/python -P -m primer $(DO) $(if $(BASE),--base $(BASE)) $(foreach name,$(ONLY),--only $(name))

twin: $(READY) ## which share of the events of recorded runs the static stage has, by kind, and what is missing
	@OMP_NUM_THREADS=1 $(BIN)/python tests/twin/twin.py --witness $(WITNESS)

release-watch: $(READY) ## what another torch does otherwise: VERSION=2.14.1 (its wheel is read) or WATCHED=PYTHON
	@OMP_NUM_THREADS=1 $(BIN)/python tests/releases/release_watch.py \
		$(if $(VERSION),--version $(VERSION)) $(if $(WATCHED),--python $(WATCHED))

clean: ## remove caches and build outputs; the environment stays
	@rm -rf build dist reports/latest .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .benchmarks
	@find verifygate reference_impl tests -type d -name __pycache__ -prune -exec rm -rf {} +

# An environment that works is kept; one that is broken, too old or without pip is built anew.
$(READY): pyproject.toml constraints.txt
	@if ! { $(BIN)/python -I -c '$(RECENT)' && $(BIN)/python -I -m pip --version; } >/dev/null 2>&1; then \
		if ! { test -n "$(PYTHON)" && $(PYTHON) -I -c '$(RECENT)'; } 2>/dev/null; then \
			echo "verifygate needs Python 3.11 or newer (tried: $(or $(PYTHON),every python on the path)): make PYTHON=/path/to/python" >&2; exit 1; fi; \
		$(PYTHON) -I -m venv --clear $(VENV); fi
	@echo "setting up $(VENV): this happens once and takes a few minutes" >&2
	@$(BIN)/python -I -m pip install --quiet --disable-pip-version-check --no-input -c constraints.txt -e '.[dev]'
	@touch $@

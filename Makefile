# `make run` and `make test` set up everything on a fresh machine: the only thing that must exist is Python 3.11+.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Test processes: one more than two processors, since a test often waits for a judge that is being started.
JOBS ?= 3

# The tests that start no judge: what an edit is tried with. `make test` runs them all.
FAST := tests/test_candidate.py tests/linter tests/operators tests/store tests/session tests/report

.PHONY: run test test-fast test-whole test-exploits test-matrix fast-tests coverage check pages format docs clean install

# A hundred of the recorded operators, which show all categories and some repairs; all of them with `make run ALL=1`.
# What guards draw is fixed here, so that the first command says the same everywhere; and each candidate is rehearsed in
# a hundred calls, in the place of 800: all of these dialogs end with kernels that have been judged with all of them.
run: install
	$(BIN)/bringup run --ops $(if $(ALL),recorded,chosen) --set judge.fresh_seed=1 --set judge.rehearsals=100

# Lint and types first: they fail in seconds, the tests in minutes.
test: check
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test-fast: check
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "not slow" $(FAST)

fast-tests:
	@echo $(FAST)

# All tests, those too that take minutes, and all variants of those of which `make test` takes every fifth.
test-whole: check
	BRINGUP_WHOLE=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

# Every cheat of the collection: `make test` judges every fifteenth one.
test-exploits: install
	BRINGUP_WHOLE=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder tests/exploits

# With torch 2.11, 2.12 and 2.13, each with its Triton: `make test-matrix MATRIX="--index-url URL"`.
test-matrix:
	PYTHON="$(PYTHON)" bash scripts/test_matrix.sh $(MATRIX)

# Lines run by the tests in their own processes; what judges, guests and device processes run is not counted.
coverage: install
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --cov --cov-report term:skip-covered --cov-report html:coverage

check: install
	$(BIN)/ruff check src tests benchmarks scripts examples/*.py examples/bringup-*
	$(BIN)/ruff format --check src tests benchmarks scripts examples/*.py examples/bringup-*
	$(BIN)/mypy
	$(BIN)/lint-imports
	@for page in reference exploits kernels; do $(BIN)/python scripts/docs_$$page.py --check || exit 1; done

# What is generated in docs/ and README.md, anew.
pages: install
	@for page in reference exploits kernels; do $(BIN)/python scripts/docs_$$page.py || exit 1; done

format: install
	$(BIN)/ruff check --fix src tests benchmarks scripts
	$(BIN)/ruff format src tests benchmarks scripts

docs: install
	$(BIN)/mkdocs build --strict

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt scripts/install.sh
	PYTHON="$(PYTHON)" VENV="$(VENV)" bash scripts/install.sh
	touch $(STAMP)

clean:
	rm -rf $(VENV) .matrix coverage .coverage site .mypy_cache .ruff_cache .pytest_cache

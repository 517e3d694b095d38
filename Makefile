# `make serve` and `make test` are all a newcomer needs; each sets up what it needs and is quick the second time.

PYTHON ?= python3
BIN := .venv/bin
# One more than there are cores: tests wait for processes, disks and deadlines half of their time.
TEST_WORKERS ?= $(shell cores=$$(nproc); echo $$((cores < 8 ? cores + 1 : 8)))
# Compiled modules are kept: tests start Python hundreds of times, and each start would compile all of Hatchway again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup guests images serve test lint check bench wheel clean

help:
	@echo "make serve   set everything up and run the gateway on http://127.0.0.1:8484"
	@echo "make test    lint, types, layers and all tests"
	@echo "make bench   measure beside native programs and peers (under 30 minutes the first time)"
	@echo "make wheel   build a wheel with the compiled guests in it"
	@echo "make clean   remove what was built here (the image cache stays: hatchway images prune)"

$(BIN)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Hatchway needs Python 3.11 or newer; set PYTHON=…")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing dependencies (about 400 MB the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --progress-bar on -e '.[dev]'
	@touch $@

setup: $(BIN)/.ready

guests: setup
	@$(BIN)/python -m wasm_modules.build

images: guests
	@$(BIN)/hatchway images build

serve: guests
	@$(BIN)/hatchway serve

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > .lint-imports.log || { cat .lint-imports.log; exit 1; }
	@rm -f .lint-imports.log

test: images lint
	@$(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal

bench: images
	@$(BIN)/python -m benches --peers --publish

wheel: setup
	@$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .

clean:
	rm -rf .venv build dist wasm_modules/build wasm_modules/built .mypy_cache .ruff_cache .pytest_cache .hypothesis

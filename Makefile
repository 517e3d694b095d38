# `make serve` and `make test` are all a newcomer needs; each sets up what it needs and is quick the second time.

PYTHON ?= python3
BIN := .venv/bin
# One more than there are cores: tests wait for processes, disks and deadlines half of their time.
TEST_WORKERS ?= $(shell cores=$$(nproc); echo $$((cores < 8 ? cores + 1 : 8)))
# Compiled modules are kept: tests start Python hundreds of times, and each start would compile all of Hatchway again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help guests images serve test lint lock bench wheel clean

help:
	@echo "make serve   set everything up and run the gateway on http://127.0.0.1:8484"
	@echo "make test    lint, types, layers and all tests"
	@echo "make bench   measure next to native programs and peers (under 30 minutes the first time)"
	@echo "make wheel   build a wheel with the guests in it, and the lock to install it with"
	@echo "make lock    write requirements/*.txt again after a change in pyproject.toml (UPGRADE=--upgrade: newest of all)"
	@echo "make clean   remove what was built here (the image cache stays: hatchway images prune)"

# What is installed has a hash in a lock, and nothing is built or fetched for it besides: wheels only, and Hatchway itself without
# an isolated build. `serve` and `build` are parts of `dev`, so that one environment is for all.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
define INSTALL
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Hatchway needs Python 3.11 or newer; set PYTHON=…")'
@test -x $(BIN)/python || $(PYTHON) -m venv .venv
@echo "installing $(filter requirements/%,$^) ..."
@$(PIP) --progress-bar on --require-hashes --only-binary :all: $(addprefix -r ,$(filter requirements/%,$^))
@$(PIP) --no-deps --no-index --no-build-isolation -e .
@touch $@
endef

$(BIN)/.serve-ready: requirements/serve.txt requirements/build.txt pyproject.toml
	$(INSTALL)

$(BIN)/.dev-ready: requirements/dev.txt pyproject.toml
	$(INSTALL)

guests: $(BIN)/.serve-ready
	@$(BIN)/python -m wasm_modules.build

images: guests
	@$(BIN)/hatchway images build

serve: guests
	@$(BIN)/hatchway serve

lint: $(BIN)/.dev-ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > .lint-imports.log || { cat .lint-imports.log; exit 1; }
	@rm -f .lint-imports.log

test: $(BIN)/.dev-ready images lint
	@$(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal

bench: $(BIN)/.dev-ready images
	@$(BIN)/python -m benches --peers --publish

wheel: $(BIN)/.serve-ready
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation --wheel-dir dist .
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation --wheel-dir dist hatchway/client
	@cp requirements/serve.txt dist/requirements.txt
	@echo "in dist; install them with:"
	@echo "  pip install --require-hashes --only-binary :all: -r requirements.txt && pip install --no-deps hatchway-*.whl"
	@echo "hatchway_client-*.whl has the Python clients alone, for machines that only ask a gateway"

# Resolved for every Python from 3.11 on and every platform; the index that is asked stays out of the files.
LOCK := .venv/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --custom-compile-command "make lock" $(UPGRADE)
lock:
	@test -x $(BIN)/uv || $(MAKE) --no-print-directory $(BIN)/.dev-ready
	@$(LOCK) --extra gateway --extra prove --output-file requirements/serve.txt pyproject.toml
	@$(LOCK) --extra build --constraints requirements/serve.txt --output-file requirements/build.txt pyproject.toml
	@$(LOCK) --extra dev --constraints requirements/serve.txt --constraints requirements/build.txt --output-file requirements/dev.txt pyproject.toml

clean:
	rm -rf .venv build dist wasm_modules/build wasm_modules/built .mypy_cache .ruff_cache .pytest_cache .hypothesis

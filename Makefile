# Each target sets up what it needs on a machine that has Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Many tests wait for servers, so twice as many workers as cores keep the cores busy.
WORKERS ?= $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

.PHONY: help setup demo test test-postgres scripts test-browser screenshots retest lint fix bench fuzz soak durability attacks wheel clients blackbox differential conformance docs schema golden badge lock bundle clean

help:  ## Show the targets
	@sed -nE -e 's/^##@ (.*)/\n\1/p' -e 's/^([a-z-]+):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 16

$(STAMP): requirements.lock pyproject.toml packages/contextive-minilm/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e packages/contextive-minilm -e .
	@touch $(STAMP)

##@ Daily

setup: $(STAMP)  ## Create .venv with the exact versions of requirements.lock

demo: $(STAMP)  ## Index the example and run a real MCP session on it
	$(BIN)/contextive-mcp demo

test: $(STAMP) lint  ## Lint, type checks, all tests, and coverage of this project's own requirements
	@# Tests start hundreds of servers. If Python may not write .pyc files, each server and worker compiles every module.
	@$(BIN)/python -m compileall -q src
	$(BIN)/duvet report --ci
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

test-postgres: $(STAMP)  ## Run the tests of the store on SQLite, PostgreSQL 15 (of Debian) and PostgreSQL 18
	@test -x /usr/lib/postgresql/15/bin/initdb || { echo "Install Debian's package postgresql first: apt-get install postgresql" >&2; exit 1; }
	CONTEXTIVE_TEST_STORES=sqlite,postgres15,postgres18 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile tests/store

retest: $(STAMP) lint  ## Re-run the tests that failed last, one at a time
	$(BIN)/duvet report --ci
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

lint: $(STAMP)  ## Format check, lint and strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

fix: $(STAMP)  ## Format the code and apply automatic fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

web/node_modules: web/package.json web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund
	@touch web/node_modules

scripts: web/node_modules  ## Rebuild the scripts of the site from web/src (needs npm)
	cd web && node build.mjs

test-browser: $(STAMP) web/node_modules  ## Test the site in a browser (needs npm and chromium)
	CONTEXTIVE_BROWSER_TESTS=required $(BIN)/python -m pytest tests/browser

screenshots: $(STAMP) web/node_modules  ## Take the pictures of the documentation (needs npm and chromium)
	$(BIN)/python -m tests.browser

golden: $(STAMP)  ## Rewrite the golden files; read the diff before you commit
	$(BIN)/python tools/write_declared.py
	CONTEXTIVE_GOLDEN=write $(BIN)/python -m pytest tests/golden

schema: $(STAMP)  ## Regenerate the pack declarations, the configuration schema and their reference pages
	$(BIN)/python tools/write_declared.py
	$(BIN)/contextive-mcp schema --output docs/config.schema.json
	$(BIN)/python tools/config_page.py
	$(BIN)/python tools/tools_page.py

badge: $(STAMP)  ## Regenerate the README badge: how many of our own requirements are implemented and tested
	$(BIN)/duvet report --badge docs/badge.svg

docs: $(STAMP)  ## Build the documentation site in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Open site/index.html. The search box needs a web server: $(BIN)/python -m http.server --bind 127.0.0.1 --directory site"

clean:  ## Remove everything that the other targets created
	rm -rf $(VENV) .node .mypy_cache .ruff_cache .pytest_cache dist site web/node_modules

##@ Release

lock:  ## Resolve the newest allowed versions into requirements.lock
	$(PYTHON) tools/lock.py

bundle: $(STAMP)  ## Write dist/*.mcpb, which desktop clients install with a click
	$(BIN)/python tools/bundle.py dist

conformance: $(STAMP)  ## Run the official MCP conformance suite (needs npm)
	$(BIN)/python -m tests.conformance

wheel: $(STAMP)  ## Install the wheel with uvx, pipx and uv in empty home directories, and use it (downloads packages)
	WHEEL_TESTS=1 $(BIN)/python -m pytest tests/installed

clients: $(STAMP)  ## Let Claude Code, Codex, Gemini CLI and opencode read what install writes (downloads 1 GB with npm)
	CLIENT_TESTS=1 $(BIN)/python -m pytest tests/clients

blackbox: $(STAMP)  ## Run the black-box cases in the directory BLACKBOX_CASES
	$(BIN)/python -m pytest tests/blackbox

differential: $(STAMP)  ## Compare with the real duvet (its path in DUVET_RS) on generated projects
	$(BIN)/python -m tests.differential

##@ Long runs, not part of the tests

bench: $(STAMP)  ## Run the benchmarks, each figure compared with its anchor
	$(BIN)/python -m benchmarks

fuzz: $(STAMP)  ## Mutate the inputs of every parser for FUZZ_SECONDS (300); inputs that break one are kept
	$(BIN)/python -m tests.fuzz

soak: $(STAMP)  ## Keep servers busy for SOAK_SECONDS (600); fails when memory, descriptors, log or p99 grow
	$(BIN)/python -m tests.soak

durability: $(STAMP)  ## Kill processes, fill the disk and damage files at every write; ten thousand operations on nine servers
	DURABILITY=full $(BIN)/python -m pytest -s tests/durability

attacks: $(STAMP)  ## Run the attack tests at full size: a million files, a hundred thousand notes, hostile texts
	ATTACKS=full $(BIN)/python -m pytest -s tests/attacks

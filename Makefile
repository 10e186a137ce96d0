# Each target sets up what it needs on a machine that has Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo test lint fix bench blackbox differential conformance schema golden lock clean

help:  ## Show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

setup: $(STAMP)  ## Make .venv with the exact versions of requirements.lock

demo: $(STAMP)  ## See the main job done on the embedded default
	$(BIN)/contextive-mcp demo

test: $(STAMP) lint  ## Lint, types, all tests, and this project's own requirements
	$(BIN)/duvet report --ci
	$(BIN)/python -m pytest

lint: $(STAMP)  ## Format check, lint and strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

fix: $(STAMP)  ## Format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## Measure, each figure beside its anchor
	$(BIN)/python -m benchmarks

blackbox: $(STAMP)  ## Run the cases of real systems that stand in ../shared, where they are there
	$(BIN)/python -m pytest tests/blackbox

differential: $(STAMP)  ## Compare with the real duvet at $$DUVET_RS on generated projects
	$(BIN)/python -m tests.differential

conformance: $(STAMP)  ## Run the official MCP conformance suite (needs npm)
	$(BIN)/python -m tests.conformance

schema: $(STAMP)  ## Write the generated configuration schema and the tables of its page
	$(BIN)/contextive-mcp schema --output docs/config.schema.json
	$(BIN)/python tools/config_page.py

golden: $(STAMP)  ## Write the golden files anew; read the diff before you commit
	CONTEXTIVE_GOLDEN=write $(BIN)/python -m pytest tests/golden

lock:  ## Resolve the newest versions inside the bounds into requirements.lock
	$(PYTHON) tools/lock.py

clean:  ## Remove what the other targets made
	rm -rf $(VENV) .node .mypy_cache .ruff_cache .pytest_cache dist

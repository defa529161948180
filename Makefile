PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check format bench clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@

setup: $(READY) ## create .venv and install the package with its pinned dependencies

DEMO := examples/pictures/*.png --task gaussian-deblur-32 --prior cifar10 \
	--set steps=25 iterations=20 learning_rate=60 guidance=1

demo: $(READY) ## restore four photographs with the embedded prior, star and Markov; writes out/demo/
	$(BIN)/g2d2 solve $(DEMO) --process star --out out/demo/star
	$(BIN)/g2d2 solve $(DEMO) --process markov --out out/demo/markov
	@echo "look at out/demo/star/*-panel.png: truth, measurement, reconstruction"

test: $(READY) ## run the tests
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(READY) ## run the long tests too
	$(BIN)/python -m pytest

check: $(READY) ## lint, format check, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## fix formatting and simple lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure speed and memory side by side; writes bench/results/
	$(BIN)/python -m bench

clean: ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache build *.egg-info

# Every target does its own set-up: a fresh clone needs Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test test-slow lint bench sabotage clean

demo: $(READY)
	$(BIN)/uli demo

test: lint
	$(BIN)/python -m pytest

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m pytest bench --benchmark-skip
	$(BIN)/python -m pytest bench --benchmark-only
	$(BIN)/python bench/ratios.py
	$(BIN)/python bench/linear.py
	$(BIN)/python bench/mdps.py
	$(BIN)/python bench/arm_sets.py

sabotage: $(READY)
	$(BIN)/python -m tests.sabotage

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "uli_fast needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .benchmarks dist uli-demo

# Every target does its own set-up: a fresh clone needs Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LAST   := bench/.build/last.json

.PHONY: demo test test-slow lint bench bench-quick bench-check rivals sabotage clean

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

# Ours against its rivals; docs/performance.md and bench/history are written anew.
bench: $(READY) rivals
	$(BIN)/python -m pytest bench --benchmark-skip
	mkdir -p bench/.build
	$(BIN)/python -m pytest bench --benchmark-only --benchmark-quiet --benchmark-json=$(LAST)
	$(BIN)/python bench/growth.py
	$(BIN)/python bench/report.py --keep

bench-quick: $(READY)
	mkdir -p bench/.build
	$(BIN)/python -m pytest bench --quick --benchmark-only --benchmark-quiet --benchmark-json=$(LAST)
	$(BIN)/python bench/report.py --keep

# Measures anew, and fails on a missed goal or a ratio far below what it used to be.
bench-check: $(READY)
	mkdir -p bench/.build
	$(BIN)/python -m pytest bench --quick --benchmark-only --benchmark-quiet --benchmark-json=$(LAST)
	$(BIN)/python bench/check.py

# Other libraries, each in an environment of its own; one that cannot be had is left out.
rivals: .venv-mabwiser .venv-rlberry .venv-smpybandits .venv-vowpalwabbit

.venv-mabwiser:     PACKAGES := mabwiser==2.7.4
.venv-rlberry:      PACKAGES := rlberry==0.7.3 rlberry-scool==0.7.3 gymnasium==0.29.1
.venv-smpybandits:  PACKAGES := SMPyBandits==0.9.7 'numpy<2.1' scipy==1.13.1
.venv-vowpalwabbit: PACKAGES := vowpalwabbit 'numpy<2'
.venv-%:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check $(PACKAGES) \
	  || { echo "$* cannot be installed here: its comparisons are left out"; rm -rf $@; }

sabotage: $(READY)
	$(BIN)/python -m tests.sabotage

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "uli_fast needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache .benchmarks dist uli-demo

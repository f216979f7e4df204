# Every target does its own set-up: a fresh clone needs Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# The libraries that uli_fast/compat serves, each with what it still runs on. SMPyBandits needs
# the last SciPy with btdtri; rlberry pins its Gymnasium and needs a Python below 3.13.
COMPAT             := mabwiser rlberry smpybandits
COMPAT_mabwiser    := mabwiser==2.7.4
COMPAT_rlberry     := rlberry==0.7.3 rlberry-scool==0.7.3 gymnasium==0.29.1
COMPAT_smpybandits := SMPyBandits==0.9.7 numpy==2.0.2 scipy==1.13.1

.PHONY: demo test test-slow lint bench sabotage compat-env compat-test compat-bench clean

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

compat-env: $(COMPAT:%=.venv-compat-%/.ready)

compat-test: compat-env
	@status=0; for name in $(COMPAT); do \
	  if [ -e .venv-compat-$$name/.ready ]; then echo "$$name:"; \
	    .venv-compat-$$name/bin/python -m pytest tests/compat/drivers/test_$${name}_*.py -rs \
	      -o filterwarnings=ignore -p no:cacheprovider --show-capture=no || status=1; \
	  else echo "$$name: skipped, it could not be installed (.venv-compat-$$name.log says why)"; fi; \
	done; exit $$status

compat-bench: compat-env
	@for name in $(COMPAT); do \
	  if [ -e .venv-compat-$$name/.ready ]; then .venv-compat-$$name/bin/python bench/compat.py; \
	  else echo "$$name: skipped, it could not be installed"; fi; \
	done

.venv-compat-%/.ready: pyproject.toml
	@$(PYTHON) -m venv .venv-compat-$*
	@if .venv-compat-$*/bin/python -m pip install --quiet --disable-pip-version-check \
	  -e . pytest $(COMPAT_$*) >.venv-compat-$*.log 2>&1; then touch $@; \
	else tail -n 3 .venv-compat-$*.log; echo "$*: not available here, its tests are skipped"; fi

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "uli_fast needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .venv-compat-* .pytest_cache .mypy_cache .ruff_cache .benchmarks dist uli-demo

# Every target does its own set-up: a fresh clone needs Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SHOWS  := $(VENV)/.shows
READY  := $(VENV)/.ready
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
FIRST  := bench/.build/first.json
LAST   := bench/.build/last.json

# Other libraries, each in an environment of its own with versions it still runs on. SMPyBandits needs
# the last SciPy with btdtri; rlberry pins its Gymnasium and needs a Python below 3.13.
COMPAT               := mabwiser rlberry smpybandits
# Those, and what spreads an experiment; make compat-test LIBRARIES=ray tests one of them.
LIBRARIES            ?= $(COMPAT) ray
WITH_mabwiser        := -e . pytest mabwiser==2.7.4
WITH_rlberry         := -e . pytest rlberry==0.7.3 rlberry-scool==0.7.3 gymnasium==0.29.1
WITH_smpybandits     := -e . pytest SMPyBandits==0.9.7 numpy==2.0.2 scipy==1.13.1
WITH_ray             := -e . pytest ray==2.60.0
WITH_vowpalwabbit    := vowpalwabbit==9.11.9 numpy

.PHONY: demo test tests test-slow test-portable lint style types bench bench-quick bench-check rivals sabotage lists reliability compat-test compat-bench docs wheel-test clean

demo: $(SHOWS)
	$(BIN)/uli demo

# Both workers have a core; a product of matrices on two threads would wait for the other one.
test: export OPENBLAS_NUM_THREADS := 1
test: export OMP_NUM_THREADS := 1
test: export MKL_NUM_THREADS := 1

# mypy, the documentation and the wheel take one core, one after the other: beside the tests, not before them.
# Any failure is make's.
test: style
	@$(MAKE) --no-print-directory -j 2 tests types docs wheel-test

tests: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile --benchmark-disable

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

# All tests in settings that stand for other machines; SETTINGS="one-core busy" runs these.
test-portable: $(READY)
	$(BIN)/python -m tests.portable $(SETTINGS)

lint: style types

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# The site, in docs/_build/html. Tutorials are run; a warning is an error, and nothing is fetched.
docs: $(READY)
	$(BIN)/python -m sphinx -q -E -W --keep-going -n -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The wheel and the source archive, as users get them: built, compared, installed where nothing else is, used.
wheel-test: $(READY)
	$(BIN)/python -m tests.wheel

# One thread for ours and for every rival, in every process.
bench bench-quick bench-check: export OPENBLAS_NUM_THREADS := 1
bench bench-quick bench-check: export OMP_NUM_THREADS := 1
bench bench-quick bench-check: export MKL_NUM_THREADS := 1

# Ours against its rivals; docs/performance.md is rewritten, and bench/history.jsonl grows by a line.
bench: $(READY) rivals
	$(BIN)/python -m pytest bench --benchmark-skip
	mkdir -p bench/.build
	$(BIN)/python -m pytest bench --lap --benchmark-only --benchmark-quiet --benchmark-json=$(FIRST)
	$(BIN)/python -m bench.tools.growth
	$(BIN)/python -m pytest bench --lap --benchmark-only --benchmark-quiet --benchmark-json=$(LAST)
	$(BIN)/python -m bench.tools.report --join $(FIRST) --keep

# Printed and kept in bench/history.jsonl; the page stays that of the last whole run.
bench-quick: $(READY)
	mkdir -p bench/.build
	$(BIN)/python -m pytest bench --quick --benchmark-only --benchmark-quiet --benchmark-json=$(LAST)
	$(BIN)/python -m bench.tools.report --keep --quick

# Measures again, and fails on a missed goal or a ratio far below what it used to be.
bench-check: $(READY)
	mkdir -p bench/.build
	$(BIN)/python -m pytest bench --quick --benchmark-only --benchmark-quiet --benchmark-json=$(LAST)
	$(BIN)/python -m bench.tools.check

# One that cannot be installed is left out, and the reason is printed.
rivals: $(COMPAT:%=.venv-%/.ready) .venv-vowpalwabbit/.ready

sabotage: $(READY)
	$(BIN)/python -m tests.sabotage

# What is written from the registry: a stub for type checkers, the table of learners in docs.
lists: $(READY)
	$(BIN)/python -m tests.lists

# Kills, damage, bad input, bounds checks, sabotage; docs/reliability.md is rewritten.
reliability: $(READY) .venv-ray/.ready
	$(BIN)/python -m tests.reliability

compat-test: $(LIBRARIES:%=.venv-%/.ready)
	@status=0; for name in $(LIBRARIES); do \
	  if [ -e .venv-$$name/.ready ]; then echo "$$name:"; \
	    .venv-$$name/bin/python -m pytest tests/compat/drivers/test_$${name}_*.py -rs \
	      -o filterwarnings=ignore -p no:cacheprovider --show-capture=no || status=1; \
	  else echo "$$name: skipped, it could not be installed (.venv-$$name.log says why)"; fi; \
	done; exit $$status

compat-bench: rivals
	@for name in $(COMPAT); do \
	  if [ -e .venv-$$name/.ready ]; then .venv-$$name/bin/python -m bench.tools.compat; \
	  else echo "$$name: skipped, it could not be installed"; fi; \
	done

.venv-%/.ready: pyproject.toml
	@$(PYTHON) -m venv .venv-$*
	@if .venv-$*/bin/python -m pip install --quiet --disable-pip-version-check \
	  $(WITH_$*) >.venv-$*.log 2>&1; then touch $@; \
	else tail -n 3 .venv-$*.log; echo "$*: could not be installed, its tests are skipped"; fi

# What a demo shows, and in the same environment what tests and documentation need besides. Python
# compiles what it imports; pip would compile everything.
$(SHOWS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "uli_fast needs Python 3.11 or newer")'
	@echo "Installing uli_fast and what it shows itself with, into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) -e '.[report]'
	@touch $@

$(READY): $(SHOWS)
	@echo "Installing what tests and documentation need besides ..."
	@$(INSTALL) -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache .benchmarks dist uli-demo docs/_build docs/api

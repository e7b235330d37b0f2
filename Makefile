# Thin lines over pip, sentbook and pytest. `make` alone lists the targets.

PYTHON   ?= python3
PROFILE  ?= demo
JOBS     ?= 2
PIP_ARGS ?=
export PROFILE
# What runs is what lies in this folder, whatever .venv or the caller's settings name.
ifneq ($(dir $(firstword $(MAKEFILE_LIST))),./)
$(error Call make in the folder of its Makefile: make -C "$(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))" $(MAKECMDGOALS))
endif
export SENTBOOK_ROOT := $(CURDIR)
export PYTHONPATH    := $(CURDIR)/lib
BIN      := .venv/bin
STAMP    := .venv/.installed
SENTBOOK := $(BIN)/python -m sentbook.cli
PIP      := PYTHONPATH= $(BIN)/python -m pip install $(PIP_ARGS) --disable-pip-version-check --progress-bar off -c requirements.lock

.DEFAULT_GOAL := help
.PHONY: here help setup book pdf cluster batch check test test-long lint format bench run lab clean
.DELETE_ON_ERROR:

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv with what the book needs

# A .venv that came along with a copy or a move of the checkout.
here:
	@test ! -e .venv/pyvenv.cfg || $(BIN)/python -c "" 2>/dev/null || { \
	  echo "The Python of .venv is not on this machine; run: rm -rf .venv && make $(or $(MAKECMDGOALS),setup)" >&2; exit 1; }
	@test ! -e .venv/pyvenv.cfg || $(BIN)/python tools/moved.py

# torch first, by its exact version: it is the largest, and some indexes name the CPU build of it apart.
$(STAMP): requirements.lock pyproject.toml | here
	@test ! -L .venv || { echo ".venv is a link, and make installs nothing in other folders; run: rm .venv && make" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "sentbook needs Python 3.11 or later and '$(PYTHON)' is missing or older; install one and run: make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) "$$(grep '^torch==' requirements.lock)"
	$(PIP) -e .
	@touch $@

# What only tests, linters, JupyterLab or a cluster need: extras of pyproject.toml, at the versions of the same lock.
.venv/.installed-%: $(STAMP)
	@test ! -L .venv || { echo ".venv is a link, and make installs nothing in other folders; run: rm .venv && make" >&2; exit 1; }
	$(PIP) -e ".[$*]"
	@touch $@

book: $(STAMP) ## run what changed, build the book: _build/html/index.html
	$(SENTBOOK) batch book --profile "$$PROFILE" --jobs $(JOBS)

pdf: book ## the whole book as one PDF, printed by Chromium: _build/sentbook.pdf
	cd book && ../$(BIN)/python -m _ext.build --pdf

cluster: .venv/.installed-cluster ## what SLURM needs, for sentbook batch --executor slurm

batch: $(STAMP) ## the whole grid, where something changed: make batch PROFILE=small JOBS=2 BATCH_ARGS="--record"
	$(SENTBOOK) batch --profile "$$PROFILE" --jobs $(JOBS) $(BATCH_ARGS)

check: $(STAMP) ## numbers and verdicts, from the committed records: make check PAGES="cse/table1 wsv/figure5"
	$(SENTBOOK) check $(PAGES)

test: .venv/.installed-test book ## all tests but the long ones; builds the book first where something changed
	# Every cell of two notebooks, from the notebook's own folder; the book has run them all. One after the other: nbval's
	# kernels talk over ports, and two that start at once may take each other's.
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q --nbval-lax --nbval-current-env -o addopts= notebooks/cse/table2.ipynb notebooks/wsv/figure6.ipynb
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not long" $(PYTEST_ARGS)
	@echo "Tests that take more than a minute were left out; run them with: make test-long"

test-long: .venv/.installed-test book check ## the tests that take more than a minute, and all records
	$(SENTBOOK) check --profile paper
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m long $(PYTEST_ARGS)

lint: .venv/.installed-lint ## ruff and mypy
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

format: .venv/.installed-lint ## let ruff mend what it can
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

bench: $(STAMP) ## speed against the reference implementations
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed.py --rounds 1 $(BENCH_ARGS)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/training.py

run: $(STAMP) ## one notebook: make run NOTEBOOK=cse/table1 PROFILE=small
	@test -n "$$NOTEBOOK" || { echo "Name a notebook: make run NOTEBOOK=cse/table1 PROFILE=small" >&2; exit 2; }
	$(SENTBOOK) run "$$NOTEBOOK" --profile "$$PROFILE"

lab: .venv/.installed-lab ## JupyterLab, from a list of the notebooks
	JUPYTER_PATH= OMP_WAIT_POLICY=$${OMP_WAIT_POLICY:-PASSIVE} $(BIN)/python -m jupyterlab notebooks/start.ipynb

clean: ## remove what book and test make; keeps .venv, results and trained encoders
	rm -rf _build book/_api book/_executed book/_runs build/executed build/runs build/batch build/book build/book.log
	rm -rf .snakemake .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find lib book tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Everything a person or a machine does with this checkout; `make` alone lists it.
# The environment lies in .venv and is made on first use, from constraints.txt.

# The first of these that is Python 3.10 or later, those with dgl before the others; override with
# `make PYTHON=/path/to/python`.
SUPPORTED := import sys; sys.exit(sys.version_info < (3, 10))
PYTHON ?= $(shell for python in python3.11 python3.10 python3.13 python3.12 python3 python; do \
	$$python -c '$(SUPPORTED)' 2>/dev/null && echo $$python && break; done)

BIN := .venv/bin
INSTALLED := .venv/.installed
# Processes of the test suite. Each computes in one thread, so that they do not compete, and begins
# with a part of the tests of its own (worksteal), so that they do not compile the same loops.
JOBS ?= 2
PYTEST_ARGS ?=
# At most five minutes on two cores, for an accuracy of at least 0.75.
DEMO_ARGS ?= --train-size 40000 --test-size 2000 --max-depth 5 --epochs 15 \
	--cell tucker --hidden-size 20 --rank 3

.PHONY: help install demo test lint format bench clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s%s\n", $$1, $$2 }' Makefile

install: $(INSTALLED) ## make .venv and install the library and its tools, pinned

$(INSTALLED): pyproject.toml constraints.txt
	@"$(PYTHON)" -c '$(SUPPORTED)' 2>/dev/null || { echo "structnet needs Python 3.10 or later:" \
		"$(if $(PYTHON),$(PYTHON) is not one,none is on the PATH);" \
		"install one, or run make PYTHON=/path/to/python" >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --no-input \
		-c constraints.txt -e '.[dev]'
	@touch $@

demo: $(INSTALLED) ## train a Tucker Tree-LSTM on generated ListOps into runs/demo
	rm -rf runs/demo
	$(BIN)/structnet train tree-lstm --data listops $(DEMO_ARGS) --out runs/demo

test: $(INSTALLED) ## run all tests, doctests, tutorials and the examples of README and guides
	OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

lint: $(INSTALLED) ## check format, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED) ## put the code into the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED) ## run every benchmark in its quick form
	@set -e; for script in $$(grep -l __main__ tests/bench/*.py); do \
		echo "$(BIN)/python $$script --quick"; $(BIN)/python $$script --quick; done

clean: ## remove build files and caches; .venv and runs stay
	rm -rf build dist *.egg-info .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find structnet tests tutorials -name __pycache__ -exec rm -rf {} +

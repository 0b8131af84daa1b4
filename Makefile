# Needs Python 3.11 or later and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint results bench-peers

demo: .venv/installed
	$(BIN)/fedreg compare digits --resume

test: .venv/developed lint
	$(BIN)/python -m pytest -q -n auto -m "not slow"

test-slow: .venv/developed
	$(BIN)/python -m pytest -q -n auto -m slow

lint: .venv/developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

results: .venv/developed
	$(BIN)/python benchmarks/results.py

# The same work by fedreg, Flower, pfl-research, FedLab, FedJAX and a plain loop: make bench-peers PEERS='--rounds 3'
bench-peers: .venv/developed
	$(BIN)/fedreg data get mnist
	$(BIN)/python benchmarks/peers/run.py $(PEERS)

.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("fedreg needs Python 3.11 or later, this is " + sys.version.split()[0] + "; set PYTHON=") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/developed: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

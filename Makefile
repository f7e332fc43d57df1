# make demo   a real service with real faults, and the failure graphs of its traces
# make test   the test suite (ARGS goes to pytest)
# make lint   ruff and mypy
# make bench  what failgraph costs, as ratios (ARGS=--quick: roughly)
# make backends   a real Jaeger, a real Collector and Compose's loader, built from their Go modules into a cache; the tests
#                 that need them run where they are
# make gym    real NeMo Gym releases in a cache; likewise
# make soak   10 million failures in one process, in an hour or two: memory stays flat (TRACES of ten failures each)
# Each makes its virtual environment in VENV; PYTHON chooses another interpreter, INSTALL, EDITABLE, PINS and GROUP what is
# installed, PROVIDERS whose tracer providers the tests also meet. Those have a folder of their own: logfire is a plug-in
# of pydantic's and would load itself everywhere, and the wheel of nemo-lens asks for Python 3.13.

PYTHON  ?= python3
VENV    ?= .venv
INSTALL ?= .[demo]
EDITABLE ?= --editable
PINS    ?=
GROUP   ?= dev
TRACES  ?= 1000000
PROVIDERS ?= logfire logfire-sdk executing nemo-lens==0.1.0
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check
CHECK   := @$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("failgraph needs Python 3.10 or newer; name one, as in: make demo PYTHON=python3.12 VENV=.venv-3.12")'

.PHONY: demo test lint bench backends gym soak clean

demo: $(VENV)/.demo
	$(BIN)/failgraph demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	PYTHONPATH=tests:tests/support $(BIN)/python -m bench $(ARGS)

backends:
	tests/support/backends/build

gym:
	tests/support/gym/build

soak: $(VENV)/.dev
	$(BIN)/python tests/bench/soak.py $(TRACES)

$(VENV)/.demo: pyproject.toml
	$(CHECK)
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	$(PIP) install --quiet --editable '.[demo]'
	touch $@

$(VENV)/.dev: pyproject.toml
	$(CHECK)
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	$(PIP) install --quiet $(EDITABLE) '$(INSTALL)' $(PINS) --group $(GROUP)
	$(if $(strip $(PROVIDERS)),$(PIP) install --quiet --no-deps --ignore-requires-python --target $(VENV)/providers $(PROVIDERS))
	touch $@ $(VENV)/.demo

clean:
	rm -rf .venv .venv-* dist .bench.json .mypy_cache .ruff_cache .pytest_cache .hypothesis

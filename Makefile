# make demo        run a service with real faults, and print the failure graphs of its traces
# make test        run the tests that need Python only, in at most 3 minutes (ARGS goes to pytest)
# make test-all    run all tests, also slow ones and those with real programs (ARGS goes to pytest)
# make lint        run ruff and mypy
# make bench       measure what failgraph costs, as ratios (ARGS=--quick: roughly)
# make backends    build a real Jaeger, a real Collector and Compose's loader for `make test-all`,
#                  from their Go modules into a cache
# make gym         install NeMo Gym releases for `make test-all`, into a cache
# make screenshot  take the picture in the README, from Jaeger's page (tests/support/screenshot.py)
# make soak        record 10 million failures in one process, in 1 to 2 hours: memory must stay flat
#                  (TRACES of ten failures each)
#
# Each makes its virtual environment in VENV. PYTHON chooses another interpreter; INSTALL, EDITABLE,
# PINS and GROUP say what is installed. PROVIDERS are packages whose tracer providers some tests
# meet. They go into a folder of their own: logfire is a plug-in of pydantic's and would load itself
# everywhere, and the wheel of nemo-lens asks for Python 3.13.

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

.PHONY: demo test test-all lint bench backends gym screenshot soak clean

demo: $(VENV)/.demo
	$(BIN)/failgraph demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not slow" $(ARGS)

test-all: $(VENV)/.dev
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

screenshot: $(VENV)/.dev
	$(PIP) install --quiet --group screenshot
	$(BIN)/python tests/support/screenshot.py

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

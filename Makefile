# Each target works from a fresh clone: it makes .venv where there is none, or brings a stale one up to date.
#
#   make demo       both fixes, fixed and reverted side by side; no GPU needed
#   make test       all tests; pytest's arguments: make test PYTEST_ARGS="-x tests/edits"
#   make test-all   the core's tests on Python 3.10 to 3.13, where those are found
#   make gpu-test   the tests that need an NVIDIA GPU (tests/gpu), and their evidence, into docs/evidence; an environment
#                   that has prtoggle and torch: make gpu-test GPU_PYTHON=python3; without evidence: EVIDENCE=
#   make prove-all  each fix in each release of SGLang, fixed and reverted, and its table into docs/proof.md; takes minutes
#   make lint       ruff and mypy          make fix   let ruff repair what it can
#   make bench      the benchmarks, into docs/benchmarks.md (one section: make bench BENCH=speed)
#   make docs       the documentation as a site, in site/; opens from the disk: site/index.html
#   make build      an sdist and a wheel, in dist/
#   make clean      removes environments, builds and caches
#
# Another Python: make PYTHON=python3.12 test

PYTHON ?= python3
PYTEST_ARGS ?= -n 2
GPU_ARGS ?= -n 4 --dist worksteal
EVIDENCE ?= docs/evidence
RELEASES ?= sglang>=0.5.13
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all gpu-test prove-all lint fix bench docs build clean venv

venv:
	@$(PYTHON) scripts/devenv.py $(VENV) --extras dev,torch,docs

demo: venv
	@$(BIN)/prtoggle demo

test: venv
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

test-all:
	@$(PYTHON) scripts/test_all.py -- $(PYTEST_ARGS)

gpu-test: $(if $(GPU_PYTHON),,venv)
	@PRTOGGLE_EVIDENCE=$(EVIDENCE) $(or $(GPU_PYTHON),$(BIN)/python) -m pytest tests/gpu $(GPU_ARGS)

# What is not proven stands in the table too, and then this fails.
prove-all: venv
	@status=0; $(BIN)/prtoggle check --prove --against '$(RELEASES)' --json > .proof.json || status=$$?; \
	$(BIN)/python scripts/make_proof.py .proof.json && rm -f .proof.json && exit $$status

lint: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fix: venv
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: venv
	@$(BIN)/python -m benchmarks $(BENCH)

# A warning is an error (mkdocs.yml says so), but not with --quiet, which hides it from the count as well.
docs: venv
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

build: venv
	@$(BIN)/python -m build --no-isolation

clean:
	rm -rf .venv .venv-* build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two commands do everything on a fresh clone: `make demo` and `make test`.
# Each target makes .venv and installs just what it needs; stamps remember what is installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test lint types unit cluster docs gallery browser bench experiments install format clean

demo: $(VENV)/.demo  ## select pixels of sklearn's digits and the paper's first example; pictures in demo/
	$(BIN)/python examples/demo.py demo

test: lint types docs unit  ## ruff, mypy, the site, pytest: what CI runs

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

unit: $(VENV)/.test
	$(BIN)/pytest -n auto --dist loadgroup
	SCIPY_ARRAY_API=1 $(BIN)/pytest -q tests -k check_array_api_input  # skipped by scikit-learn without this variable

cluster: $(VENV)/.test  ## tests that start dask clusters and kill their processes
	GSPPCA_CLUSTER=1 $(BIN)/pytest -q tests/test_distributed.py

docs: $(VENV)/.test  ## the site, in build/site; any warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

gallery: $(VENV)/.test  ## run all examples; rewrites docs/images/gallery
	$(BIN)/python examples/gallery.py

browser:  ## Debian's chromium for the tests of the report, if it is missing; without it they are skipped
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
	  echo "make browser: chromium and chromedriver are missing, and installing them needs apt-get and root." >&2; exit 1; \
	else apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; fi

bench: $(VENV)/.bench  ## speed against peers; rewrites benchmarks/results
	$(BIN)/python -m benchmarks

# Hours the first time; what is in results/ is not run again. JOBS=8 make experiments, for more workers.
JOBS ?= 2
experiments: $(VENV)/.test  ## the paper's tables and figures, run where rows are missing; then the page
	OMP_NUM_THREADS=1 $(BIN)/python -m gsppca.cli.experiment run all --jobs $(JOBS) --out results
	$(BIN)/python -m gsppca.cli.experiment report --out results

install: $(VENV)/.all  ## .venv with every extra

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) demo build dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[plot]'
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[test]'
	touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[bench]'
	touch $@

$(VENV)/.all: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[all]'
	touch $@ $(VENV)/.demo $(VENV)/.test $(VENV)/.bench

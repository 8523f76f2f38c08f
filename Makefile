# Two commands do everything on a fresh clone: `make demo` and `make test`. `make help` lists the others.
# Each target makes .venv and installs just what it needs; stamps remember what is installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One thread of BLAS for each worker: there are as many workers as cores.
# Each worker takes tests that are neighbours, which share fixtures and one browser; who is done first takes from the other.
# A worker that crashes ends the run: with one put in its place, pytest-xdist may wait for ever.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal --max-worker-restart=0
QUICK := not slow and not nightly and not cluster and not browser
# The tests that run scikit-learn's own checks of estimators.
CHECKED := tests/test_estimator.py tests/baselines/test_interface.py
# What must be there for a test that needs it: a test whose extra or browser is missing fails instead of being skipped.
# `make test REQUIRE="extras browser"` is what CI runs.
REQUIRE ?= extras
REQUIRED = $(addprefix --require=,$(REQUIRE))
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Compiled modules are kept, whatever the shell says: tests start many interpreters.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo quick test lint spell types arrays unit cluster kills nightly browser-tests tiers mutations coverage docs versions gallery architecture browser bench \
	experiments package minimal lowest newest pythons install hooks format clean

help:  ## this list
	@grep -hE '^[a-z%.-]+[0-9.%]*:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/.demo  ## three data sets, their numbers and what to try next; pictures in demo/
	$(BIN)/python examples/demo.py demo

# Tests, from the quickest.

quick: $(VENV)/.dev  ## before every commit: ruff, and the tests that are not slow
	$(BIN)/ruff check --quiet .
	$(PYTEST) -q -m "$(QUICK)" tests

# The tests of clusters take one core of two on average: what takes one core, one after the other, runs beside them.
test: $(VENV)/.dev  ## what CI runs: ruff, mypy, the site, all tests
	$(MAKE) -j2 --output-sync=target cluster types docs lint arrays
	$(MAKE) unit

lint: spell $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

spell: $(VENV)/.dev
	$(BIN)/codespell

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev
	$(PYTEST) $(REQUIRED)

arrays: $(VENV)/.dev  # checks that scikit-learn skips without this variable
	SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 $(BIN)/pytest -q -k check_array_api_input $(CHECKED)

cluster: $(VENV)/.dev  ## tests that start dask clusters and kill their processes, one at a time
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -m cluster $(REQUIRED) tests/test_distributed.py

kills: $(VENV)/.dev  ## 50 fits on a dask cluster, in each of which a worker is killed: do they end, and with the same bits?
	$(BIN)/python -m benchmarks.kills --fits 50

nightly: $(VENV)/.dev  ## more cases of what `make test` holds: all real tables, notebooks, odd reports
	$(PYTEST) $(REQUIRED) -m nightly tests

browser-tests: browser $(VENV)/.dev  ## the report in Chromium
	$(BIN)/pytest -q -m browser --require=browser tests

tiers: $(VENV)/.dev  ## time all tests and rewrite tests/slow.txt, the list of what `make quick` leaves out
	OMP_NUM_THREADS=1 $(BIN)/pytest -q tests --junitxml=build/tiers.xml
	$(BIN)/python -m tests.tiers build/tiers.xml

mutations: $(VENV)/.dev  ## put bugs into a copy of the source: each must make its tests fail
	OMP_NUM_THREADS=1 $(BIN)/python tests/mutate.py

coverage: $(VENV)/.dev  ## lines and branches; rewrites tests/coverage.md, and fails where the numerics are not covered
	mkdir -p build
	$(PYTEST) -q tests --cov --cov-report=json:build/coverage.json
	$(BIN)/python tests/coverage_table.py build/coverage.json tests/coverage.md

# Environments that we claim: each has a folder of its own, .venv-NAME, and runs the quick tests.

minimal:  ## no extras at all: what is optional is optional
	.ci/environment minimal $(PYTHON) -e . --group test

lowest:  ## the oldest numpy, scipy and scikit-learn that we claim
	$(PYTHON) .ci/lowest.py > .ci/lowest.txt
	.ci/environment lowest $(PYTHON) -e . --group test --constraint .ci/lowest.txt

newest:  ## pre-releases of whatever has one
	.ci/environment newest $(PYTHON) --pre --upgrade -e '.[all]' --group test --group peers

# Versions that pyenv holds are found without being switched on.
PYENV_ROOT ?= $(HOME)/.pyenv
empty :=
python3.% pythons: export PATH := $(PATH):$(subst $(empty) $(empty),:,$(wildcard $(PYENV_ROOT)/versions/3.1[123].*/bin))

python3.%:  ## one version of Python with all extras: make python3.12
	.ci/environment $@ $@ -e '.[all]' --group test --group peers

pythons:  ## each of Python 3.11, 3.12 and 3.13 that this machine has
	@for version in 3.11 3.12 3.13; do \
	  if python$$version -c '' 2>/dev/null; then $(MAKE) python$$version || exit 1; \
	  else echo "make pythons: python$$version is not here: skipped"; fi; done

# The package.

package: $(VENV)/.package  ## wheel and sdist in dist/, checked, installed into an empty environment, `gsppca demo` run there
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	rm -rf build/wheel && $(PYTHON) -m venv build/wheel
	build/wheel/bin/pip install --quiet "$$(ls dist/*.whl)[cli]"
	cd build/wheel && bin/gsppca --version && bin/gsppca demo

# Documentation.

docs: $(VENV)/.dev  ## the site, in build/site; any warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	test -s build/site/objects.inv  # by which the documentation of others links to ours

VERSION ?= dev
versions: docs  ## the site as one of several versions, in build/versions/VERSION: make versions VERSION=v0.1.0
	mkdir -p build/versions && rm -rf build/versions/$(VERSION) && cp -r build/site build/versions/$(VERSION)
	$(BIN)/python .ci/versions.py build/versions

gallery: $(VENV)/.dev  ## run all examples; rewrites docs/images/gallery
	$(BIN)/python examples/gallery.py

architecture: $(VENV)/.dev  ## rewrites docs/architecture.md from the imports of the source
	$(BIN)/python docs/make_architecture.py

# Longer work.

browser:  ## Debian's chromium for the tests of the report, if it is missing; without it they are skipped
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
	  echo "make browser: chromium and chromedriver are missing, and installing them needs apt-get and root." >&2; exit 1; \
	else apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; fi

bench: $(VENV)/.bench  ## speed against peers; rewrites benchmarks/results
	$(BIN)/python -m benchmarks

# Hours the first time; what is in results/ is not run again. JOBS=8 make experiments, for more workers.
JOBS ?= 2
experiments: $(VENV)/.dev  ## the paper's tables and figures, run where rows are missing; then the page
	OMP_NUM_THREADS=1 $(BIN)/python -m gsppca.cli.experiment run all --jobs $(JOBS) --out results
	$(BIN)/python -m gsppca.cli.experiment report --out results

install: $(VENV)/.dev  ## .venv with every extra and every tool

hooks: $(VENV)/.dev  ## run the checks before every commit of this clone
	$(BIN)/pre-commit install

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(VENV)-* demo build dist

# Groups of dependencies need pip 25.1; Python 3.11 brings an older one.

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.pip: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	touch $@

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[plot]'
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.pip
	$(BIN)/pip install --quiet -e '.[all]' --group dev
	touch $@ $(VENV)/.demo

$(VENV)/.package: pyproject.toml | $(VENV)/.pip
	$(BIN)/pip install --quiet --group package
	touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[plot,dask]'
	touch $@

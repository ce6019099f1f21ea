# Needs GNU make and Python 3.11 or later. No root. `make help` lists the targets.

PYTHON  ?= python3
UV      ?= uv
UPGRADE ?=
SHELL   := /bin/bash

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check -q
REQ  := requirements
OUT  := demo-out
FIGURES := study-out
STUDY ?= all
QUICK ?=
ROOM ?= exact.level
COUNT ?= 20
SEED ?= 1
WHOLE ?=
RESULTS := benchmarks/results

LOCK := pip compile --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
        --no-header --no-emit-index-url -q $(UPGRADE)

# Workers share the test files that pytest has rewritten; without the cache each one compiles them all, which takes longer
# than to collect them.
# There is a worker for each core: several threads of linear algebra in each of them would only wait for each other.
WORKERS ?= auto
CORE    := exact channels noise randomness mechanisms ledger test_seal.py
PYTEST  := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check oldest bare studies proofs audit bench campaign dist docs gallery pictures mutants peers lock readme clean

help:  ## list the targets
	@sed -nE 's/^([a-z]+):.*## (.*)$$/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

demo: $(VENV)/.run-stamp  ## install what runs, then write the demonstration to demo-out/
	$(BIN)/discreet demo --out $(OUT)

test: CHOSEN ?= not campaign and not outside and not long
test: $(VENV)/.dev-stamp  ## run the tests that need nothing but Python and little time
	$(PYTEST) --dist worksteal -m "$(CHOSEN)"

check: $(VENV)/.dev-stamp  ## lint, format, types, `make test`, and the tests with a browser, PostgreSQL, Java, Node, notebooks, the site
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m codespell_lib README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md VISION.md docs src tools studies
	$(BIN)/mypy
	$(MAKE) test
	HYPOTHESIS_PROFILE=check $(PYTEST) --dist loadscope -m "(outside or long) and not campaign"

oldest:  ## `make test` with the oldest versions that pyproject.toml allows
	$(MAKE) VENV=$(VENV)/oldest $(VENV)/oldest/.dev-stamp
	$(VENV)/oldest/bin/python -m pip --disable-pip-version-check -q install --no-deps --require-hashes -r $(REQ)/oldest.txt
	$(MAKE) VENV=$(VENV)/oldest test CHOSEN="not campaign and not outside"

bare: $(VENV)/bare/.bare-stamp  ## the tests of the core, where no extra is installed
	PYTHONDONTWRITEBYTECODE= $(VENV)/bare/bin/python -m pytest -n $(WORKERS) --dist worksteal \
	  -m "not campaign and not outside" $(addprefix tests/,$(CORE))

studies: $(VENV)/.dev-stamp  ## recompute the papers' figures and tables into study-out/ (STUDY=all or its name; QUICK=1: small sizes)
	$(BIN)/python -m studies $(STUDY) $(if $(filter list,$(STUDY)),,$(if $(QUICK),--quick) -o $(FIGURES))

proofs:  ## check the proofs in proofs/ with Coq, and build the proved checker (it says which packages)
	@$(MAKE) --no-print-directory -C proofs

bench: $(VENV)/.dev-stamp  ## run every benchmark (20 minutes, quiet machine) and write one page of them, benchmarks/results/README.md (QUICK=1: small sizes; FULL=1: hours; PEERS=1: install peers; NAMES="calls release": these alone)
	$(BIN)/python benchmarks/_page.py $(if $(QUICK),--quick) $(if $(FULL),--full) $(if $(PEERS),--peers) $(NAMES)

campaign: $(VENV)/.dev-stamp  ## run the long tests; they write to benchmarks/results/
	mkdir -p $(RESULTS)
	HYPOTHESIS_PROFILE=campaign DISCREET_CAMPAIGN=full DISCREET_RESULTS=$(RESULTS) $(BIN)/python -m pytest -m campaign

dist: $(VENV)/.dist-stamp proofs  ## wheel and sdist, tested; bill of materials and licences: dist/
	$(BIN)/python tools/dist.py build
	$(BIN)/python tools/dist.py bill
	$(BIN)/python tools/dist.py test

audit: $(VENV)/.dist-stamp  ## known faults of the locked packages (needs the network)
	$(BIN)/python tools/dist.py audit

docs: $(VENV)/.dev-stamp  ## build the documentation as a site, offline: docs/_build/index.html
	$(BIN)/python -m sphinx -W -q -E -b html docs docs/_build

gallery: $(VENV)/.dev-stamp  ## the pictures of docs/gallery.md, each from the lines beside it: docs/images/gallery/
	$(BIN)/python tools/gallery.py docs/gallery.md docs/images/gallery

pictures: $(VENV)/.dev-stamp  ## the pictures of README and docs, by the lines of their own pages (needs Chromium and Java): docs/images/
	$(BIN)/python tools/pictures.py

mutants: $(VENV)/.dev-stamp  ## change single tokens of ROOM=exact.level (COUNT=20 SEED=1 WHOLE=) and list what no test notices
	$(BIN)/python tests/mutants.py $(ROOM) --count $(COUNT) --seed $(SEED) $(if $(WHOLE),--whole)

peers: $(VENV)/.dev-stamp  ## run the peers' lines of docs/coming-from.md, each in its own environment (needs the network, and Java): benchmarks/results/peers.md
	$(BIN)/python tools/peers.py

# dev.txt comes first, and the others but oldest.txt are held to its versions.
lock:  ## recompile requirements/*.txt (needs uv; UPGRADE=--upgrade moves the pins)
	$(UV) $(LOCK) pyproject.toml --extra all --extra spark $(REQ)/dev.in -o $(REQ)/dev.txt > /dev/null
	$(UV) $(LOCK) pyproject.toml -c $(REQ)/dev.txt -o $(REQ)/core.txt > /dev/null
	$(UV) $(LOCK) pyproject.toml --extra tables -c $(REQ)/dev.txt -o $(REQ)/tables.txt > /dev/null
	$(UV) $(LOCK) pyproject.toml --extra all -c $(REQ)/dev.txt -o $(REQ)/all.txt > /dev/null
	$(UV) $(LOCK) pyproject.toml $(REQ)/bare.in -c $(REQ)/dev.txt -o $(REQ)/bare.txt > /dev/null
	$(UV) $(LOCK) pyproject.toml $(REQ)/oldest.in --extra all --resolution lowest-direct -o $(REQ)/oldest.txt > /dev/null
	$(UV) $(LOCK) $(REQ)/dist.in -c $(REQ)/dev.txt -o $(REQ)/dist.txt > /dev/null
	$(UV) $(LOCK) $(REQ)/build.in -c $(REQ)/dev.txt -o $(REQ)/build.txt > /dev/null
	@! grep -nE '://|^ *--?(index|extra-index|find-links|i |f )' $(REQ)/*.txt || { echo "a lock names a place"; exit 1; }

readme: $(VENV)/.run-stamp  ## write the table in docs/mechanisms.md and the page of commands anew
	PYTHONPATH=docs $(BIN)/python -c 'from pathlib import Path; import reference; \
	  Path("docs/commands.md").write_text(reference.commands(), encoding="utf-8")'
	$(BIN)/python -c 'from pathlib import Path; from discreet.registry import with_table; \
	  p = Path("docs/mechanisms.md"); p.write_text(with_table(p.read_text(encoding="utf-8")), encoding="utf-8")'

clean:  ## remove everything these targets made, except locks and results
	rm -rf $(VENV) $(OUT) $(FIGURES) build dist docs/_build docs/reference/discreet*.md docs/notebooks/*.md proofs/build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The package is installed in place, so an edit to a source file needs no new install.
INSTALL_PACKAGE = $(PIP) install --no-deps --no-build-isolation -e .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is not Python 3.11 or later. Try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run-stamp: $(REQ)/tables.txt $(REQ)/build.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r $(REQ)/tables.txt -r $(REQ)/build.txt
	$(INSTALL_PACKAGE)
	@touch $@

$(VENV)/.dev-stamp: $(REQ)/dev.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r $(REQ)/dev.txt
	$(INSTALL_PACKAGE)
	@touch $@ $(VENV)/.run-stamp

$(VENV)/bare/.bare-stamp: $(REQ)/bare.txt $(REQ)/build.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)/bare
	$(VENV)/bare/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r $(REQ)/bare.txt -r $(REQ)/build.txt
	$(VENV)/bare/bin/python -m pip --disable-pip-version-check -q install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dist-stamp: $(REQ)/dist.txt $(VENV)/.dev-stamp
	$(PIP) install --require-hashes -r $(REQ)/dist.txt
	@touch $@

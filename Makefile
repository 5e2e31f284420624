# Each target sets itself up on a bare Debian, Ubuntu or macOS machine with Python 3.11 to 3.13
# and its venv module, and is fast the second time.
#   make demo    protect a real experiment and show what came out
#   make demo-r  the same from R, where R is installed
#   make test    what a change needs: units, contracts, short replays; minutes
#   make test-full  all tests but audits and torture (R, Chromium, Java, LaTeX are installed where
#                that needs no question)
#   make check   format, lint, types and make test
#   make test-versions  a minute of tests on the wheel: Python 3.12, 3.13, and the lowest versions;
#                       IF_THERE=1 leaves out a Python that is not on this machine
#   make check-all  everything: check, test-versions, audit, torture (where it is), benchmarks, release
#   make release build sdist, wheel, R package, site, bill of materials and checksums, and try each, into dist;
#                refused while blanks of the owner are open: REHEARSAL=1 builds all the same
#   make bench   benchmarks, as ratios to a stated baseline in the same run (ONCE=1: each once, untimed)
#   make bench-scale   1e7 rows x 5 columns and effects of up to 1e8 rows in an engine
#   make house   the code in numbers: lengths, importers, files and calls on four common paths
#   make audit   end-to-end privacy audits and replays, which take long; their table is docs/audit.md
#   make spark-cluster   the tests on Spark with two executors, one of which is killed
#   make torture     damage, kill, race, starve and insult it; its figures are in docs/reliability.md
#   make docs         the documentation as a site, into build/site
#   make replicate-rct   the tables of the RCT paper beside the printed, into build/rct-paper
#   make replicate-ippw  the experiments of the IPW paper, as printed and corrected, into build/ippw-paper
#   make replicate-dpsc  the experiments of the synthetic control paper, into build/dpsc-paper
#   make replicate-cate  the experiments of the paper on heterogeneous effects, into build/cate-paper
#   make papers-page     docs/papers.md from these four, with FULL=1 at the papers' own size
# PYTHON=/path/to/python picks the interpreter; PYTEST_ARGS=... is passed on to pytest.

VENV ?= .venv
DEMO_VENV ?= .venv-demo
PYTEST_ARGS ?=
JOBS ?= auto
# workers that each run several linear-algebra threads only get in each other's way
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
export REHEARSAL

sources := $(shell find dprct data -type f ! -path '*/__pycache__/*' 2>/dev/null)
dev := $(VENV)/.made-for-development
demo := $(DEMO_VENV)/.made-for-demo
pytest := $(VENV)/bin/python -m pytest

.PHONY: help demo demo-r test test-full check check-all test-versions release wheel lint types bench bench-scale java audit spark-cluster house torture replicate-rct replicate-ippw replicate-dpsc replicate-cate papers-page r browser latex docs clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \{0,1\}//p' Makefile

demo: $(demo)
	@$(DEMO_VENV)/bin/dprct demo

demo-r: $(dev) r
	@scripts/demo-r $(VENV)

test: $(dev)
	$(pytest) -n $(JOBS) -m "not long and not audit and not torture" $(PYTEST_ARGS)

# PART=long is what make test leaves out
test-full: $(dev) r browser java latex
	$(pytest) -n $(JOBS) $(if $(PART),-m "$(PART) and not audit and not torture") $(PYTEST_ARGS)

check: lint types test

# the audits take about 50 minutes of processor; torture is a marker of the tests, as audit is
check-all: export REHEARSAL ?= 1
check-all: check test-full test-versions audit bench release
	$(pytest) -m torture --noise=system -n $(JOBS) $(PYTEST_ARGS)

wheel: build/wheel/.made

build/wheel/.made: pyproject.toml README.md scripts/venv scripts/uv $(sources)
	@rm -rf build/wheel && scripts/venv .venv-release build twine
	@.venv-release/bin/python -m build -q --wheel --outdir build/wheel .
	@touch $@

VERSIONS ?= 3.12 3.13 lowest
test-versions: wheel
	@JOBS=$(JOBS) scripts/on-versions build/wheel/dprct-*.whl $(VERSIONS)

release:
	@scripts/release dist

lint: $(dev)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .

types: $(dev)
	$(VENV)/bin/mypy

bench: $(dev)
	$(pytest) tests/benchmarks -o norecursedirs='.*' -o addopts="--import-mode=importlib" \
		-p no:randomly $(if $(ONCE),--benchmark-disable,--benchmark-only) \
		--benchmark-group-by=group --benchmark-columns=min,median,rounds $(PYTEST_ARGS)

bench-scale: $(dev)
	$(VENV)/bin/python scripts/bench_scale.py $(BENCH_ARGS)

audit: $(dev) java
	$(pytest) -m audit --noise=system -n $(JOBS) $(PYTEST_ARGS)
	$(VENV)/bin/python scripts/audit_table.py

house: $(dev)
	@$(VENV)/bin/python scripts/house.py $(HOUSE_ARGS)

# the tests on Spark once more, with two executors in processes of their own, one of which is killed
spark-cluster: $(dev) java
	DPRCT_SPARK_CLUSTER=1 $(pytest) -m "audit or not audit" tests/contract -k "Spark or spark" $(PYTEST_ARGS)

# about half an hour; TORTURE_ARGS="--share 0.1 kills" runs a tenth of the kills
torture: $(dev)
	$(VENV)/bin/python scripts/torture.py --page docs/reliability.md $(TORTURE_ARGS)

# the paper's data are not part of the project: PAPER_DATA is a folder that holds them
PAPER_DATA ?= $(wildcard ../shared/data)
# FULL=1: as many draws and settings as the papers have; docs/papers.md says how long that takes
REPLICATE_ARGS ?= $(if $(FULL),--full)

# has more releases than its paper anyway
replicate-rct: $(dev)
	$(VENV)/bin/python -m papers rct --figures --out build/rct-paper \
		$(if $(PAPER_DATA),--data $(PAPER_DATA)) $(filter-out --full,$(REPLICATE_ARGS))

replicate-dpsc: $(dev)
	$(VENV)/bin/python -m papers dpsc --figures --out build/dpsc-paper $(REPLICATE_ARGS)

replicate-cate: $(dev)
	$(VENV)/bin/python -m papers cate --figures --out build/cate-paper \
		$(if $(PAPER_DATA),--data $(PAPER_DATA)) $(REPLICATE_ARGS)

replicate-ippw: $(dev)
	$(VENV)/bin/python -m papers ippw --figures --out build/ippw-paper \
		$(if $(PAPER_DATA),--data $(PAPER_DATA)) $(REPLICATE_ARGS)

# docs/papers.md, and the tables of docs/heterogeneous_effects.md, from what the four left
papers-page: $(dev)
	$(VENV)/bin/python -m papers page --effects docs/heterogeneous_effects.md

# without network; -W: a link that leads nowhere ends it
docs:
	@scripts/venv .venv-docs --editable '.[docs]'
	@.venv-docs/bin/python scripts/pages.py build/pages
	@.venv-docs/bin/python -m sphinx -q -W --keep-going -j auto -d build/doctrees -c docs build/pages build/site
	@echo "wrote build/site/index.html"

r: $(dev)
	@scripts/r-for-tests $(VENV)

java:
	@scripts/java-for-tests

browser:
	@scripts/browser-for-tests

latex:
	@scripts/latex-for-tests

$(dev): pyproject.toml scripts/venv scripts/uv
	@scripts/venv $(VENV) --editable '.[dev]'
	@touch $@

$(demo): pyproject.toml README.md scripts/venv scripts/uv $(sources)
	@scripts/venv $(DEMO_VENV) .
	@touch $@

clean:
	rm -rf $(VENV) $(DEMO_VENV) .venv-release .venv-docs build dist dprct-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks

# Needs Python 3.11 or newer, make and, on Debian, apt (for Java). All else goes into .venv, which every
# target builds when it is missing or stale. Another Python: make test PYTHON=python3.12

PYTHON ?= python3
JAVA_PACKAGE ?= openjdk-17-jre-headless
has-java = { [ -n "$$JAVA_HOME" ] && [ -x "$$JAVA_HOME/bin/java" ]; } || command -v java >/dev/null 2>&1
BIN := .venv/bin
READY := .venv/.ready
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# numba's cache cannot see a change in a file that a kernel's file imports; a cache per state can.
export NUMBA_CACHE_DIR := $(CURDIR)/.venv/numba/$(shell find src/windrow/kernels -name '*.py' | LC_ALL=C sort | xargs cat | cksum | cut -d' ' -f1)

# The stamp holds what .venv was built for; another Python or a moved tree makes it stale.
VERSION := $(shell $(PYTHON) -c 'import sys; print(".".join(map(str, sys.version_info[:3])))' 2>/dev/null)
BUILT_FOR := $(VERSION) $(shell $(PYTHON) -c 'import sys; print(sys.base_prefix)' 2>/dev/null) $(CURDIR)
ifneq ($(shell cat $(READY) 2>/dev/null),$(BUILT_FOR))
$(READY): FORCE
endif

.PHONY: help setup demo test test-kernels test-long test-faults test-versions check bench bench-spark experiments pin clean FORCE
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## build .venv with the versions of constraints.txt

demo: $(READY) ## join two streams and look at the answer
	@$(BIN)/windrow demo

test: $(READY) ## the compiled suite, then the kernel tests interpreted
	$(BIN)/pytest -m "not long and not faults"
	@$(MAKE) --no-print-directory test-kernels

test-kernels: $(READY) ## the kernel tests as plain Python, without numba's compiler
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=interpreted $(BIN)/pytest -m "kernel and not long" tests

test-long: $(READY) ## the tests too long for every day
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -m long

test-faults: $(READY) ## the join on Spark while drivers, workers and caches are killed and damaged
	$(BIN)/pytest tests/faults --durations=0

# constraints.txt pins one Spark, so each has a venv of its own, in build/. Others than the two that the
# project claims: make test-versions SPARKS="4.1.4 4.2.0"
SPARKS ?= $(shell sed -n 's/.*"pyspark>=\([0-9.]*\).*/\1/p' pyproject.toml; sed -n 's/^pyspark==//p' constraints.txt)

test-versions: ## a short Spark suite on the oldest and the newest Spark that is claimed
	@$(check-machine)
	@for spark in $(SPARKS); do \
	  venv=build/spark-$$spark-python$(VERSION); $(build-spark-venv) || exit; \
	  echo "test-versions: Spark $$spark, Python $(VERSION)"; \
	  NUMBA_CACHE_DIR=$(CURDIR)/build/numba/$(notdir $(NUMBA_CACHE_DIR)) \
	    $$venv/bin/python -m pytest -q -m versions tests/spark tests/connect --durations=5 || exit; \
	done

check: $(READY) ## ruff, mypy, the import contracts and the size of files and functions
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q tests/test_shape.py

bench: $(READY) ## the benchmarks, as ratios within one run
	@$(BIN)/windrow bench

bench-spark: $(READY) ## the join on Spark beside Spark's own; an hour
	@$(BIN)/python -m benchmarks.spark
	@$(BIN)/python -m benchmarks.spark.queries
	@$(BIN)/python -m benchmarks.spark.auctions

experiments: $(READY) ## every figure of the papers and one report, into out/
	@$(BIN)/windrow experiments run --out out
	@$(BIN)/windrow experiments report --out out

pin: ## renew constraints.txt with the newest versions
	@echo "pin: installing the newest versions"
	@rm -rf build/pin && $(PYTHON) -m venv build/pin
	@build/pin/bin/pip install -q --upgrade pip setuptools
	@build/pin/bin/pip install -q --no-build-isolation -e ".[dev]"
	@{ head -n 1 constraints.txt; \
	   build/pin/bin/pip list --format=freeze --exclude windrow | LC_ALL=C sort -f; \
	 } > build/constraints.txt
	@mv build/constraints.txt constraints.txt && rm -rf build/pin
	@echo "pin: constraints.txt renewed"

clean: ## remove results, caches and build leftovers; .venv stays
	@rm -rf out build dist src/*.egg-info .hypothesis .*_cache
	@find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# A .venv without its stamp is broken or foreign, so it goes; one that is only out of date is updated.
# The stamp comes last: a setup that fails halfway leaves none.
$(READY): pyproject.toml constraints.txt
	@$(check-machine)
	@[ "$$(cat $@ 2>/dev/null)" = "$(BUILT_FOR)" ] || { \
	  echo "setup: creating .venv with Python $(VERSION)"; rm -rf .venv; $(PYTHON) -m venv .venv; }
	@rm -f $@
	@echo "setup: installing the packages of constraints.txt"
	@$(BIN)/python -m pip install -q -c constraints.txt pip setuptools
	@$(BIN)/python -m pip install -q -c constraints.txt --no-build-isolation -e ".[dev]"
	@echo "$(BUILT_FOR)" > $@
	@echo "setup: .venv is ready"

define check-machine
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "setup: $(PYTHON) is $(or $(VERSION),not a working Python 3); windrow needs Python 3.11 or newer." >&2; \
  echo "setup: install one and name it: make setup PYTHON=python3.12" >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(install-venv); \
$(has-java) || $(install-java)
endef

# $venv with $spark and what its tests need; built anew for another tree or other dependencies.
define build-spark-venv
{ \
  built="$(BUILT_FOR) $$(cat pyproject.toml constraints.txt | cksum)"; \
  [ "$$(cat $$venv/.ready 2>/dev/null)" = "$$built" ] || { \
    echo "test-versions: building $$venv"; rm -rf $$venv && $(PYTHON) -m venv $$venv && \
    grep -vE '^(pyspark|py4j)==' constraints.txt > $$venv/constraints.txt && \
    $$venv/bin/python -m pip install -q -c $$venv/constraints.txt pip setuptools && \
    $$venv/bin/python -m pip install -q -c $$venv/constraints.txt --no-build-isolation \
      -e ".[cli,testing]" pytest "pyspark[connect]==$$spark" && \
    echo "$$built" > $$venv/.ready; \
  }; \
}
endef

# Debian ships Python without venv: its package is added where that can be done without asking.
VENV_PACKAGE = python$(basename $(VERSION))-venv
# Spark runs on Java 17 or newer.
define install-java
{ \
  if [ "$$(id -u)" = 0 ]; then as_root=env; else as_root="sudo -n"; fi; \
  echo "setup: no Java found; adding $(JAVA_PACKAGE)"; \
  { $$as_root apt-get update -qq && $$as_root apt-get install -qq -y $(JAVA_PACKAGE); } >/dev/null; \
  $(has-java) || { \
    echo "setup: could not add it. Install Java 17 or newer, or set JAVA_HOME to one" >&2; exit 1; }; \
}
endef

define install-venv
{ \
  if [ "$$(id -u)" = 0 ]; then as_root=env; else as_root="sudo -n"; fi; \
  echo "setup: $(PYTHON) has no venv module; adding $(VENV_PACKAGE)"; \
  { $$as_root apt-get update -qq && $$as_root apt-get install -qq -y $(VENV_PACKAGE); } >/dev/null; \
  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
    echo "setup: could not add it. Run: sudo apt-get install $(VENV_PACKAGE)" >&2; \
    echo "setup: or name a Python that has venv and ensurepip: make setup PYTHON=..." >&2; exit 1; }; \
}
endef

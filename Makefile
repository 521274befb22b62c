# The two commands of the README are `make demo` and `make test`. Each makes .venv when it is missing, with
# uv if it is there and python3 -m venv + pip otherwise; cmake and ninja come as wheels.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cpp/*)
SANITIZED := build/asan-venv

ifeq ($(UV),)
CREATE = $(PYTHON) -m venv
INSTALL = $(1)/bin/python -m pip install --quiet --disable-pip-version-check
else
CREATE = uv venv --quiet --seed --python $(PYTHON)
INSTALL = uv pip install --quiet --python $(1)/bin/python
endif

PAPERS := iwamura xia huang kobayashi jiao
# Cells of the papers' tables that run at once, a core each.
JOBS ?= 1

# Random cases of `make attack`.
CASES ?= 2000

.PHONY: demo test hard attack lint format docs bench bench-full asan wheel clean \
  papers papers-plan papers-quick $(PAPERS:%=paper-%)

$(BIN)/python:
	$(CREATE) $(VENV)

# What builds the package, in the environment itself: every install below then shares one build folder, and ninja
# compiles the core once. setuptools builds what has no wheel among the packages the tests compare with.
$(VENV)/build-tools: $(BIN)/python pyproject.toml
	$(call INSTALL,$(VENV)) "scikit-build-core>=0.10" "nanobind>=2.4,<4" cmake ninja "setuptools>=70.1"
	@touch $@

# The package itself, editable: Python files are live, C++ is rebuilt when a source is newer.
EDITABLE = $(call INSTALL,$(VENV)) --no-build-isolation --editable

$(VENV)/installed: $(VENV)/build-tools $(SOURCES)
	$(EDITABLE) ".[cli,plot]"
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(EDITABLE) ".[test]"
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(EDITABLE) ".[dev]"
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(EDITABLE) ".[docs]"
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(EDITABLE) ".[bench]"
	@touch $@

demo: $(VENV)/installed
	$(BIN)/python -m slimsvm demo

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# What takes minutes: 10,000 altered model files of each kind, every C header in every number under the sanitizers.
hard: $(VENV)/installed-test
	SLIMSVM_HARD=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

# Random data and parameters for every estimator, 30 ms each; goes on where it was (build/random_cases.jsonl), and
# writes benchmarks/results/random_cases.md.
attack: $(VENV)/installed-test
	$(BIN)/python tests/random_cases.py $(CASES) --again --results benchmarks/results/random_cases.md

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror cpp/*.cpp cpp/*.hpp
	$(BIN)/codespell .

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i cpp/*.cpp cpp/*.hpp

# The site, into build/docs; a warning is an error. It runs the examples, which takes a minute.
docs: $(VENV)/installed-docs
	rm -rf docs/api
	$(BIN)/python -m sphinx -q -W --keep-going -c docs -d build/doctrees . build/docs
	@echo "build/docs/index.html"

# What they print is kept in benchmarks/results. The papers' tables need the published data (SLIMSVM_DATA);
# `bench` takes a few minutes, `bench-full` hours.
bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/expansion.py
	$(BIN)/python benchmarks/onnx_speed.py
	$(BIN)/python benchmarks/compact_speed.py --only digits
	$(BIN)/python benchmarks/phone_book.py --only thirty_rows spirals pure_noise --fresh
	$(MAKE) papers-quick

# Every table and figure of the five papers: runs what the journals in benchmarks/results/papers lack and writes
# the pages in docs/results. Ctrl-C keeps what is done; `make papers HOURS=2` begins nothing that would take longer.
papers: $(VENV)/installed-bench
	$(BIN)/python benchmarks/run_papers.py run --jobs $(JOBS) $(HOURS:%=--hours %)

$(PAPERS:%=paper-%): paper-%: $(VENV)/installed-bench
	$(BIN)/python benchmarks/run_papers.py run $* --jobs $(JOBS) $(HOURS:%=--hours %)

papers-plan: $(VENV)/installed-bench
	$(BIN)/python benchmarks/run_papers.py plan

papers-quick: $(VENV)/installed-bench
	$(BIN)/python benchmarks/run_papers.py run --quick --jobs $(JOBS)

bench-full: bench papers
	$(BIN)/python benchmarks/compact.py
	$(BIN)/python benchmarks/compact.py --table --pictures
	$(BIN)/python benchmarks/compact_speed.py
	$(BIN)/python benchmarks/phone_book.py

# The whole test suite with the core built under the address and undefined-behaviour sanitizers. The
# sanitizer's library must be loaded before Python; leaks are Python's own and not looked for.
asan:
	test -x $(SANITIZED)/bin/python || $(CREATE) $(SANITIZED)
	$(call INSTALL,$(SANITIZED)) ".[test]" --config-settings=cmake.define.SLIMSVM_SANITIZE=ON \
	  --config-settings=build-dir=build/asan
	cd $(SANITIZED) && LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 SLIMSVM_SANITIZED=1 bin/python -m pytest -q -n 2 -p no:cacheprovider \
	  --rootdir ../.. -c ../../pyproject.toml ../../tests

wheel: $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist docs/api docs/gallery

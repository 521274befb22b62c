# The two commands of the README are `make demo` and `make test`. Each makes .venv when it is missing, with
# uv if it is there and python3 -m venv + pip otherwise; cmake and ninja come as wheels.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cpp/*)
CPP := $(wildcard cpp/*.cpp cpp/*.hpp cpp/check/*.cpp tests/fuzz/core/*.cpp tests/fuzz/core/*.hpp)
SANITIZED := build/asan-venv
# What `make asan` runs: `make asan ASAN_TESTS=tests/test_core.py` is shorter than all.
ASAN_TESTS ?= tests
# Seconds of the processor for each harness of the fuzzer, and which: `make fuzz SECONDS=60 HARNESS="models tables"`.
SECONDS ?= 600
HARNESS ?=
OLDEST := build/oldest-venv

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

# Random cases of `make attack`, and the number of the first: other numbers are other cases.
CASES ?= 2000
SEED ?= 100000

.PHONY: demo test test-oldest hard attack lint format docs bench bench-full interruption asan tsan fuzz wheel \
  release-check qemu clean \
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

# Compiled modules are kept, whatever the shell says: the tests start Python a hundred times.
test hard: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# What takes minutes: 10,000 altered model files of each kind, every C header in every number under the sanitizers.
hard: $(VENV)/installed-test
	SLIMSVM_HARD=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

# The tests with the oldest versions that pyproject.toml promises, in an environment of their own. Old packages meet
# newer ones of their own dependencies and say that those have changed: their deprecations are not looked for.
test-oldest:
	test -x $(OLDEST)/bin/python || $(CREATE) $(OLDEST)
	$(PYTHON) tests/oldest.py > build/oldest.txt
	$(call INSTALL,$(OLDEST)) ".[test]" --constraint build/oldest.txt --config-settings=build-dir=build/oldest
	cd $(OLDEST) && PYTHONPATH=../.. bin/python -m pytest -q -n 2 -p no:cacheprovider -W ignore::DeprecationWarning \
	  --rootdir ../.. -c ../../pyproject.toml ../../tests

# Random data and parameters for every estimator, 30 ms each; goes on where it was (build/random_cases.jsonl), and
# writes benchmarks/results/random_cases.md.
attack: $(VENV)/installed-test
	$(BIN)/python tests/random_cases.py $(CASES) --seed $(SEED) --again --results benchmarks/results/random_cases.md

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/codespell .
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.citation-file-format CITATION.cff

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

# The site, into build/docs; a warning is an error. It runs the examples, which takes a minute.
docs: $(VENV)/installed-docs
	rm -rf docs/api
	$(BIN)/python -m sphinx -q -W --keep-going -c docs -d build/doctrees . build/docs
	@echo "build/docs/index.html"

# What they print is kept in benchmarks/results. The papers' tables need the published data (SLIMSVM_DATA);
# `bench` takes a few minutes, `bench-full` hours.
bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/expansion.py
	$(BIN)/python benchmarks/one_norm.py
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

# How soon Ctrl-C ends a fit of every estimator.
interruption: $(VENV)/installed-test
	$(BIN)/python benchmarks/interruption.py

# The whole test suite with the core built under the address and undefined-behaviour sanitizers. The
# sanitizer's library must be loaded before Python; leaks are Python's own and not looked for. Dask's workers must find
# the tests, as they do where `make test` starts them.
asan:
	test -x $(SANITIZED)/bin/python || $(CREATE) $(SANITIZED)
	$(call INSTALL,$(SANITIZED)) ".[test]" --config-settings=cmake.define.SLIMSVM_SANITIZE=ON \
	  --config-settings=build-dir=build/asan
	cd $(SANITIZED) && PYTHONPATH=../.. LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 SLIMSVM_SANITIZED=1 bin/python -m pytest -q -n 2 -p no:cacheprovider \
	  --rootdir ../.. -c ../../pyproject.toml $(ASAN_TESTS:%=../../%)

# The core's parallel paths without Python, under the thread sanitizer: a race, or other bits than one thread gives,
# ends the program. The sanitizer needs addresses where it expects them.
tsan: $(VENV)/build-tools
	$(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -S tests/fuzz -B build/tsan -DSLIMSVM_CHECK=threads
	$(BIN)/ninja -C build/tsan
	TSAN_OPTIONS=halt_on_error=1 $(shell command -v setarch >/dev/null && echo setarch -R) build/tsan/threads

# Ten minutes of the processor for each harness: an hour. The core's need Clang with libFuzzer, the readers' install
# Atheris, both into build/fuzz; what is found is printed and lies in build/fuzz/found. tests/fuzz/README.md has the rest.
fuzz: $(VENV)/installed-test
	$(BIN)/python tests/fuzz/run.py --seconds $(SECONDS) $(HARNESS)

wheel: $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# What a release uploads, built, installed into fresh environments and tried; it is then in dist/.
release-check: $(BIN)/python
	$(BIN)/python release/check.py

# The core for processors that are not here, against plain loops: ARM with 64 bits, x86-64 without AVX and with AVX2.
# Debian: apt-get install g++-aarch64-linux-gnu qemu-user
CHECK = $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DSLIMSVM_CHECK=ON -B build/check

qemu: $(VENV)/build-tools
	$(CHECK)/x86_64
	$(BIN)/ninja -C build/check/x86_64
	$(CHECK)/aarch64 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
	$(BIN)/ninja -C build/check/aarch64
	qemu-aarch64 -L /usr/aarch64-linux-gnu build/check/aarch64/core_check baseline
	qemu-x86_64 -cpu qemu64 build/check/x86_64/core_check baseline
	qemu-x86_64 -cpu max,-fma build/check/x86_64/core_check baseline
	qemu-x86_64 -cpu max build/check/x86_64/core_check avx2

clean:
	rm -rf $(VENV) build dist docs/api docs/gallery

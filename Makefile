# Everything runs in a local .venv; the first target that needs it sets it up.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
export PYTHONHASHSEED ?= 0

.PHONY: demo warm test test-all lint types imports check wheel-test bench docs site clean-kernels clean

demo: $(STAMP)
	$(BIN)/policrf demo

# Every kernel, compiled ahead on all cores.
warm: $(STAMP)
	$(BIN)/policrf warmup

test: $(STAMP)
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadscope

test-all: $(STAMP)
	HYPOTHESIS_PROFILE=default $(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports --no-cache

check: lint types imports test

# The built wheel in an empty environment, then the README's first example.
wheel-test: $(STAMP)
	$(BIN)/python scripts/wheel_test.py

# The generated parts of README.md, ARCHITECTURE.md and docs, then the site.
docs: $(STAMP)
	$(BIN)/python scripts/generated_docs.py
	$(MAKE) site

# docs/_build/html; a warning is an error, and so is an example that fails.
site: $(STAMP)
	$(BIN)/python scripts/site

bench: $(STAMP)
	$(BIN)/policrf bench energy

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)

# numba does not see that a kernel called from another file has changed.
clean-kernels:
	find src tests -name '*.nb[ic]' -delete

clean: clean-kernels
	rm -rf .venv build dist .mypy_cache .ruff_cache demo

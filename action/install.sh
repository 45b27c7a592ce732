#!/usr/bin/env bash
# Install upskill: what GATE_UPSKILL names, or the version that this action belongs to.
set -euo pipefail

python -m pip install --quiet --disable-pip-version-check -- "${GATE_UPSKILL:-${GITHUB_ACTION_PATH:?is not set}/..}"
upskill --version

#!/usr/bin/env bash
# Install upskill: what GATE_UPSKILL names, or the version that this action belongs to. It is built by the packages of
# requirements/build.lock, and everything that it needs comes from requirements/user.lock, by hashes.
set -euo pipefail

locks=${GITHUB_ACTION_PATH:?is not set}/../requirements
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# What is built or installed may run code: it sees no variable but these, so no key and no token.
seen=()
while IFS= read -r name; do
  case $name in
    PATH | HOME | LANG | TMPDIR | LD_LIBRARY_PATH | PIP_* | HTTP_PROXY | HTTPS_PROXY | NO_PROXY | SSL_CERT_FILE | SSL_CERT_DIR)
      seen+=("$name=${!name}") ;;
  esac
done < <(compgen -e)

# Isolated: no file of the checkout takes the place of a module of Python.
pip() {
  local python=$1
  shift
  env -i "${seen[@]}" "$python" -I -m pip --quiet --disable-pip-version-check "$@"
}

env -i "${seen[@]}" python -I -m venv "$work/build"
pip "$work/build/bin/python" install --require-hashes --no-deps --only-binary :all: -r "$locks/build.lock"
pip "$work/build/bin/python" wheel --no-deps --no-build-isolation --wheel-dir "$work" -- \
  "${GATE_UPSKILL:-$GITHUB_ACTION_PATH/..}"
pip python install --require-hashes --no-deps --only-binary :all: -r "$locks/user.lock"
pip python install --no-deps --no-index -- "$work"/*.whl
upskill --version

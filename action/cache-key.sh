#!/usr/bin/env bash
# A short digest of the models, for the key of the cache of answers.
set -euo pipefail

digest=$(printf '%s\n%s\n' "${GATE_MODELS:-}" "${GATE_BASE_URL:-}" | sha256sum | cut -c 1-16)
printf 'models=%s\n' "$digest" >>"${GITHUB_OUTPUT:?is not set}"

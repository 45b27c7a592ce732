#!/usr/bin/env bash
# Lint the skills that a change touches. Exits with the code of `upskill lint`: 1 where it found a danger or an error.
#
#   GATE_OUT  the folder of changed-skills.sh; lint.sarif is written there
set -euo pipefail

: "${GATE_OUT:?is not set}"
. "$(dirname -- "${BASH_SOURCE[0]}")/guard.sh"
mapfile -d '' -t skills <"$GATE_OUT/changed.nul"
if [ "${#skills[@]}" -eq 0 ]; then
  printf 'no skill to lint\n' >&2
  exit 0
fi
guard
code=0
upskill lint --sarif "$GATE_OUT/lint.sarif" -- "${skills[@]}" || code=$?
stop_guard
exit "$code"

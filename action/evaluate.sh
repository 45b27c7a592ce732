#!/usr/bin/env bash
# Evaluate the skills that a change touches against the version before the change. Exits with the code of `upskill eval`.
#
# The command is typed in a checkout of the base: settings, scripts, a ledger and whatever else is named by a relative path
# are those of the base. Only the skills are those of the change.
#
#   GATE_OUT        the folder of changed-skills.sh; results.json, junit.xml, comment.md, eval.log, command.txt and runs/
#                   are written there
#   GATE_MODELS     models, one per line or separated by commas
#   GATE_REQUIRE    for --require: no-harm, helps; empty for none
#   GATE_BASE_URL, GATE_MAX_COST, GATE_MIN_LIFT   for --base-url, --max-cost, --min-lift; empty for none
#   GATE_LEDGER     a ledger of looks in the repository; it is read at the base, so that a change cannot add to it
#   GATE_ACCEPT_CHANGED_CASES   true for --accept-changed-cases
#   GATE_ARGUMENTS  more arguments of `upskill eval`, one per line
#   GATE_KEYS       NAME=value, one per line: variables for `upskill eval` alone
set -euo pipefail

: "${GATE_OUT:?is not set}"
. "$(dirname -- "${BASH_SOURCE[0]}")/guard.sh"
mapfile -d '' -t skills <"$GATE_OUT/changed.nul"
base=$(<"$GATE_OUT/base.txt")
out=$(cd -- "$GATE_OUT" && pwd)
if [ "${#skills[@]}" -eq 0 ]; then
  printf 'no skill to evaluate\n' >&2
  exit 0
fi

arguments=()
while IFS= read -r model; do
  model=${model//[[:space:]]/}
  [ -z "$model" ] || arguments+=(--model "$model")
done < <(printf '%s\n' "${GATE_MODELS:-}" | tr ',' '\n')
arguments+=(--compare "git:$base")
[ -z "${GATE_REQUIRE:-}" ] || arguments+=(--require "$GATE_REQUIRE")
[ -z "${GATE_MIN_LIFT:-}" ] || arguments+=(--min-lift "$GATE_MIN_LIFT")
[ -z "${GATE_MAX_COST:-}" ] || arguments+=(--max-cost "$GATE_MAX_COST")
[ "${GATE_ACCEPT_CHANGED_CASES:-}" != true ] || arguments+=(--accept-changed-cases)
while IFS= read -r argument; do
  [ -z "$argument" ] || arguments+=("$argument")
done < <(printf '%s\n' "${GATE_ARGUMENTS:-}")
command=$(printf '%q ' upskill eval "${skills[@]/#-/./-}" "${arguments[@]}")
printf '%s\n' "${command% }" >"$GATE_OUT/command.txt"
# The address of a server is not for the comment.
[ -z "${GATE_BASE_URL:-}" ] || arguments+=(--base-url "$GATE_BASE_URL")

if [ -n "${GATE_LEDGER:-}" ]; then
  ledger=$out/looks.jsonl
  git cat-file -p "$base:./$GATE_LEDGER" >"$ledger" 2>/dev/null || : >"$ledger"
  export UPSKILL_LEDGER=$ledger
fi

while IFS= read -r key; do
  key=${key#"${key%%[![:space:]]*}"}
  [ -n "$key" ] || continue
  [[ $key =~ ^[A-Z][A-Z0-9_]*= ]] || { printf '::error::a line of keys is not NAME=value\n' >&2; exit 2; }
  [ -z "${key#*=}" ] || export "${key%%=*}=${key#*=}"
done < <(printf '%s\n' "${GATE_KEYS:-}")
unset GATE_KEYS

leave_base() { rm -rf -- "$out/base" && git worktree prune; }
top=$PWD
leave_base
trap 'cd -- "$top" && leave_base' EXIT
GIT_LFS_SKIP_SMUDGE=1 git -c core.hooksPath=/dev/null worktree add --quiet --detach "$out/base" "$base"
ln -sfn -- "$top" "$out/head"
cd -- "$out/base"

guard
# stdout is the JSON; stderr goes to the log of the build and to a file for the comment.
code=0
{
  UPSKILL_RUNS_DIR=$out/runs upskill eval "${arguments[@]}" --yes --json --write "$out/junit.xml" \
    --write "$out/comment.md" -- "${skills[@]/#/../head/}" 2>&1 >&3 | tee "$out/eval.log" >&2
} 3>"$out/results.json" || code=$?
stop_guard
for file in eval.log comment.md results.json junit.xml; do
  [ ! -s "$out/$file" ] || sed -i 's|\.\./head/||g; s|\.\./head|.|g' "$out/$file"
done
# Errors name the address of the server, which is not for the comment either. A mask of the runner covers only its logs.
if [ -n "${GATE_BASE_URL:-}" ]; then
  host=${GATE_BASE_URL#*://} && host=${host%%/*} && host=${host##*@}
  for file in "$out/eval.log" "$out/comment.md"; do
    [ -s "$file" ] || continue
    text=$(<"$file") && text=${text//"${GATE_BASE_URL%/}"/BASE_URL} && text=${text//"$host"/HOST}
    printf '%s\n' "${text//"${host%:*}"/HOST}" >"$file"
  done
fi
printf '%s\n' "$code" >"$out/eval.code"
exit "$code"

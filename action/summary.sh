#!/usr/bin/env bash
# Write the text of the comment and of the step summary: what `upskill eval` wrote, or why it wrote nothing, and below it
# deleted skills, the link to the reports and the command. It is printed, too.
#
#   GATE_OUT         the folder of the other scripts; body.md is written there
#   GATE_REPORT_URL  where the reports are; empty for none
set -euo pipefail

: "${GATE_OUT:?is not set}"
. "$(dirname -- "${BASH_SOURCE[0]}")/guard.sh"
marker='<!-- upskill -->'
body=$GATE_OUT/body.md

# A fence that is longer than any run of backticks in the text.
fenced() {
  local text=$1 longest=2 run
  while IFS= read -r run; do [ "${#run}" -le "$longest" ] || longest=${#run}; done < <(grep -o '`*' <<<"$text" || true)
  local fence
  fence=$(printf '%*s' "$((longest + 1))" '' | tr ' ' '`')
  printf '%s%s\n%s\n%s\n' "$fence" "$2" "$text" "$fence"
}

why_nothing() {
  local code
  code=$(cat -- "$GATE_OUT/eval.code" 2>/dev/null || true)
  if [ ! -s "$GATE_OUT/changed.nul" ]; then
    printf '%s\n### upskill: no skill is changed\n' "$marker"
    return
  fi
  printf '%s\n### upskill: the skills were not measured\n\n' "$marker"
  case $code in
    '') printf 'The evaluation did not start: an earlier step failed.\n' ;;
    3) printf 'The evaluation failed (exit code 3). On a pull request from a fork, secrets such as keys are missing.\n' ;;
    *) printf 'The evaluation ended with exit code %s.\n' "$code" ;;
  esac
  if [ -s "$GATE_OUT/eval.log" ]; then
    printf '\n'
    fenced "$(tail -n 20 -- "$GATE_OUT/eval.log" | tr '\r' '\n' | tr -d '\000-\010\013-\037\177' | cut -c 1-400)" text
  fi
}

deleted_skills() {
  [ -s "$GATE_OUT/deleted.nul" ] || return 0
  local folder names=() shown
  while IFS= read -r -d '' folder; do names+=("$folder"); done <"$GATE_OUT/deleted.nul"
  printf '\nDeleted:'
  for folder in "${names[@]:0:20}"; do
    shown=${folder//[!A-Za-z0-9._\/ -]/?}
    printf ' \x60%s\x60' "${shown:0:100}"
  done
  [ "${#names[@]}" -le 20 ] || printf ' and %s more' "$((${#names[@]} - 20))"
  printf '\n'
}

{
  if [ -s "$GATE_OUT/comment.md" ]; then cat -- "$GATE_OUT/comment.md"; else why_nothing; fi
  deleted_skills
  [ -z "${GATE_REPORT_URL:-}" ] || printf '\n[Reports with every answer](<%s>)\n' "${GATE_REPORT_URL//[<>[:space:]]/}"
  if [ -s "$GATE_OUT/command.txt" ]; then
    printf '\nTo reproduce it:\n\n'
    fenced "$(head -c 2000 -- "$GATE_OUT/command.txt")" sh
  fi
} >"$body"
guard
cat -- "$body"
stop_guard
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat -- "$body" >>"$GITHUB_STEP_SUMMARY"

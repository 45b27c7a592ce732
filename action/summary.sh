#!/usr/bin/env bash
# Write the text of the comment and of the step summary: first what the change does to its own judge, then what
# `upskill eval` wrote, or why it wrote nothing, and below it the link to the reports and the command. It is printed, too.
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
    printf '### upskill: no skill is changed\n'
    return
  fi
  printf '### upskill: the skills were not measured\n\n'
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

# The paths of a list as code, few and short, so that one line holds them all.
names() {
  local path shown all=()
  while IFS= read -r -d '' path; do all+=("$path"); done <"$1"
  for path in "${all[@]:0:5}"; do
    shown=${path//[!A-Za-z0-9._\/ -]/?}
    printf '\x60%s\x60 ' "${shown:0:100}"
  done
  [ "${#all[@]}" -le 5 ] || printf 'and %s more ' "$((${#all[@]} - 5))"
}

# One line, above everything that a change could write.
read_first() {
  local list said=() part
  for list in judges nested linked deleted; do
    [ -s "$GATE_OUT/$list.nul" ] || continue
    part=$(names "$GATE_OUT/$list.nul")
    case $list in
      judges) said+=("changes what judges it: $part(settings are read at the base, workflows are not)") ;;
      nested) said+=("puts a skill inside a skill: $part") ;;
      linked) said+=("changes links or submodules, which are not measured: $part") ;;
      deleted) said+=("deletes ${part% }") ;;
    esac
  done
  [ "${#said[@]}" -gt 0 ] || return 0
  part=$(printf '%s; ' "${said[@]}")
  printf '**This pull request %s**\n' "${part%; }"
}

{
  printf '%s\n' "$marker"
  read_first
  if [ -s "$GATE_OUT/comment.md" ]; then tail -n +2 -- "$GATE_OUT/comment.md"; else why_nothing; fi
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

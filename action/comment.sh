#!/usr/bin/env bash
# Keep one comment on the pull request: change our own where there is one, add it otherwise.
#
#   GATE_OUT           the folder of summary.sh
#   GATE_TOKEN         a token that may write comments; it is never an argument of a program and never in a file
#   GATE_PULL_REQUEST  the number of the pull request; empty where there is none
#   GATE_AUTHOR        who writes our comments; default: github-actions[bot]
#   GITHUB_API_URL, GITHUB_REPOSITORY   as the runner sets them
set -euo pipefail

: "${GATE_OUT:?is not set}" "${GITHUB_API_URL:?is not set}" "${GITHUB_REPOSITORY:?is not set}"
marker='<!-- upskill -->'
author=${GATE_AUTHOR:-github-actions[bot]}
longest=65000
most_pages=50

note() { printf '::notice::%s\n' "$1" >&2; }
fail() { printf '::error::%s\n' "$1" >&2; exit 1; }

if [ -z "${GATE_PULL_REQUEST:-}" ]; then
  note "not a pull request, so there is no comment"
  exit 0
fi
[[ $GATE_PULL_REQUEST =~ ^[0-9]+$ ]] || fail "the number of the pull request is not a number"
[[ $GITHUB_REPOSITORY =~ ^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$ ]] || fail "GITHUB_REPOSITORY is not understood"
if [ -z "${GATE_TOKEN:-}" ]; then
  note "there is no token, so there is no comment"
  exit 0
fi
[[ $GATE_TOKEN =~ ^[A-Za-z0-9_.=-]+$ ]] || fail "the token has characters that no token has"

answer=$(mktemp)
trap 'rm -f -- "$answer"' EXIT

# METHOD PATH [more arguments of curl]: writes the answer to $answer and prints the status.
request() {
  local method=$1 path=$2
  shift 2
  printf 'header = "Authorization: Bearer %s"\n' "$GATE_TOKEN" |
    curl --config - --silent --show-error --request "$method" --max-time 30 --output "$answer" \
      --write-out '%{http_code}' --header 'Accept: application/vnd.github+json' \
      --header 'X-GitHub-Api-Version: 2022-11-28' "$@" "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/$path"
}

# A token of a pull request from a fork may only read.
refused() {
  note "this token may not write comments (status $1), as on a pull request from a fork; the summary has the result. \
Otherwise add permissions: pull-requests: write"
  exit 0
}

find_own() {
  local page status found
  for ((page = 1; page <= most_pages; page++)); do
    status=$(request GET "issues/$GATE_PULL_REQUEST/comments?per_page=100&page=$page" --retry 3) || return 1
    case $status in
      200) ;;
      401 | 403 | 404) printf 'refused %s\n' "$status"; return ;;
      *) printf 'status %s\n' "$status"; return ;;
    esac
    found=$(jq --raw-output --arg marker "$marker" --arg author "$author" \
      '[.[] | select(.user.login == $author and (.body // "" | startswith($marker))) | .id][0] // empty' "$answer")
    if [ -n "$found" ]; then printf 'found %s\n' "$found"; return; fi
    [ "$(jq length "$answer")" -eq 100 ] || break
  done
  printf 'none -\n'
}

read -r state value <<<"$(find_own || printf 'status none')"
case $state in
  found) method=PATCH path=issues/comments/$value ;;
  none) method=POST path=issues/$GATE_PULL_REQUEST/comments ;;
  refused) refused "$value" ;;
  *) fail "the comments of the pull request could not be read (status $value)" ;;
esac
if [ "$method" = POST ] && [ ! -s "$GATE_OUT/changed.nul" ] && [ ! -s "$GATE_OUT/deleted.nul" ]; then
  note "no skill is changed, so there is no comment"
  exit 0
fi

jq --null-input --rawfile body "$GATE_OUT/body.md" --argjson longest "$longest" \
  '{body: (if ($body | length) > $longest then $body[:$longest] + "\n\nShortened." else $body end)}' >"$GATE_OUT/comment.json"
status=$(request "$method" "$path" --header 'Content-Type: application/json' --data-binary "@$GATE_OUT/comment.json") ||
  fail "the comment could not be written: the server did not answer"
case $status in
  200 | 201) printf 'comment written (%s)\n' "$method" >&2 ;;
  401 | 403 | 404) refused "$status" ;;
  *) fail "the comment could not be written (status $status)" ;;
esac

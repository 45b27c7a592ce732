#!/usr/bin/env bash
# Find the skills that a change touches.
#
# A changed file belongs to every folder above it that has a SKILL.md, so that a SKILL.md inside a skill hides nothing. What
# git holds counts, not what a link leads to: a skill that becomes a link is deleted. A renamed skill is a deleted one and a new
# one. Paths may hold any character, so lists are NUL-separated.
#
#   GATE_BASE    the commit to compare with: the base of the pull request
#   GATE_SKILLS  folders to look in, one per line; default: the whole repository
#   GATE_OUT     where to write changed.nul, deleted.nul and nested.nul (new skills inside skills), which list folders;
#                linked.nul (changed links and submodules in no skill); judges.nul (changed files of what judges the
#                change); and base.txt (the commit that is compared)
set -euo pipefail

fail() { printf '::error::%s\n' "$1" >&2; exit 2; }

: "${GATE_OUT:?is not set}"
[ "${BASH_VERSINFO[0]}" -ge 4 ] || fail "bash 4 or newer is needed; use a Linux runner"
base=${GATE_BASE:-}
mkdir -p -- "$GATE_OUT"
for name in base.txt changed.nul deleted.nul nested.nul linked.nul judges.nul comment.md eval.code eval.log command.txt results.json; do
  rm -f -- "$GATE_OUT/$name"
done

if [ "${GITHUB_EVENT_NAME:-}" = pull_request_target ]; then
  fail "pull_request_target runs text of a stranger with the secrets of this repository; use pull_request"
fi
if [ -z "$base" ] || [ -z "${base//0/}" ]; then
  fail "there is no commit to compare with; run on pull_request, or set the input compare"
fi
[ -z "$(git rev-parse --show-prefix)" ] || fail "run this at the top of the repository"
if ! commit=$(git rev-parse --quiet --verify --end-of-options "$base^{commit}"); then
  fail "the commit to compare with is not in this checkout; set fetch-depth: 0 for actions/checkout"
fi
# What the base branch gained after this branch left it is no change of this branch.
if ! ancestor=$(git merge-base "$commit" HEAD); then
  fail "this branch and the commit to compare with share no history; set fetch-depth: 0 for actions/checkout"
fi
printf '%s\n' "$ancestor" >"$GATE_OUT/base.txt"

roots=()
while IFS= read -r root; do
  root=${root#"${root%%[![:space:]]*}"}
  root=${root%"${root##*[![:space:]]}"}
  [ -n "$root" ] || continue
  while [ "${root#./}" != "$root" ]; do root=${root#./}; done
  while [ "$root" != "${root%/}" ]; do root=${root%/}; done
  [ "$root" != . ] || root=
  roots+=("$root")
done < <(printf '%s\n' "${GATE_SKILLS:-.}")
[ "${#roots[@]}" -gt 0 ] || roots=("")

is_wanted() {
  local root
  for root in "${roots[@]}"; do
    if [ -z "$root" ] || [ "$1" = "$root" ] || [ "${1#"$root"/}" != "$1" ]; then return 0; fi
  done
  return 1
}

above() { case $1 in */*) printf '%s/' "${1%/*}" ;; *) printf './' ;; esac }

# pyproject.toml changes often, and seldom for upskill.
sets_upskill() { git grep --quiet --fixed-strings upskill "$1" -- pyproject.toml; }

is_in() { git cat-file -e "$1:./$2/SKILL.md" 2>/dev/null; }

# Keys of an array may not be "@" or empty, so each begins with a slash.
declare -A changed=() deleted=() nested=() linked=() seen=()
workflows=() judges=()
while IFS= read -r -d '' facts && IFS= read -r -d '' path; do
  case $path in
    .github/workflows/*) workflows+=("$path") ;;
    .github/* | upskill.toml) judges+=("$path") ;;
    pyproject.toml) if sets_upskill "$ancestor" || sets_upskill HEAD; then judges+=("$path"); fi ;;
  esac
  folder=$(above "$path") && folder=${folder%/}
  case $facts in
    :120000* | :160000* | :??????\ 120000* | :??????\ 160000*) if is_wanted "$path"; then linked[/$path]=$folder; fi ;;
  esac
  while [ -z "${seen[/$folder]:-}" ]; do
    seen[/$folder]=1
    if is_in HEAD "$folder"; then
      if is_wanted "$folder"; then changed[/$folder]=1; fi
    elif is_in "$ancestor" "$folder"; then
      if is_wanted "$folder"; then deleted[/$folder]=1; fi
    fi
    [ "$folder" != . ] || break
    folder=$(above "$folder") && folder=${folder%/}
  done
done < <(git diff-tree -r -z --raw --no-renames "$ancestor" HEAD)
for folder in "${!changed[@]}"; do
  ! is_in "$ancestor" "${folder#/}" || continue
  outer=${folder%/*}
  while [ -n "$outer" ]; do
    if [ -n "${changed[$outer]:-}${deleted[$outer]:-}" ]; then nested[$folder]=1; fi
    outer=${outer%/*}
  done
done
# A link inside a skill is read with it; one elsewhere may lead a reader to a skill that nobody measured.
for path in "${!linked[@]}"; do
  folder=${linked[$path]}
  while [ -z "${changed[/$folder]:-}" ] && [ "$folder" != . ]; do folder=$(above "$folder") && folder=${folder%/}; done
  [ -z "${changed[/$folder]:-}" ] || unset "linked[$path]"
done

write_list() {
  local file=$1
  shift
  : >"$file"
  [ $# -eq 0 ] || printf '%s\0' "${@#/}" | LC_ALL=C sort -z >"$file"
}
write_list "$GATE_OUT/changed.nul" "${!changed[@]}"
write_list "$GATE_OUT/deleted.nul" "${!deleted[@]}"
write_list "$GATE_OUT/nested.nul" "${!nested[@]}"
write_list "$GATE_OUT/linked.nul" "${!linked[@]}"
judges=("${workflows[@]}" "${judges[@]}")
: >"$GATE_OUT/judges.nul"
[ "${#judges[@]}" -eq 0 ] || printf '%s\0' "${judges[@]}" >"$GATE_OUT/judges.nul"

printf 'skills touched: %s, deleted: %s, compared with %s\n' "${#changed[@]}" "${#deleted[@]}" "$ancestor" >&2
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'count=%s\ndeleted=%s\nbase=%s\n' "${#changed[@]}" "${#deleted[@]}" "$ancestor" >>"$GITHUB_OUTPUT"
fi

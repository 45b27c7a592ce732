# Read by other scripts. Lines that begin with `::` are orders to the runner; between `guard` and `stop_guard` it obeys
# none, so that text of a skill cannot give any.

guard() {
  [ -n "${GITHUB_ACTIONS:-}" ] || return 0
  guard_token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '::stop-commands::%s\n' "$guard_token"
}

stop_guard() {
  [ -n "${GITHUB_ACTIONS:-}" ] || return 0
  printf '::%s::\n' "$guard_token"
}

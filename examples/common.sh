# Sourced by all scripts: root, the repository's folder, from wherever they are called, and how they fail.
unset CDPATH
root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

fail() { # fail MESSAGE [STATUS]
  printf 'error: %s\n' "${1//[[:cntrl:]]/?}" >&2
  exit "${2:-1}"
}

pin() { # the line of constraints.txt for a package, such as torch==2.13.0
  grep -m 1 "^$1==" "$root/constraints.txt"
}

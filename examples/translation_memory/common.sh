# Sourced by the steps: the repository's folder, and its environment where there is one.
unset CDPATH
root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
here="$root/examples/translation_memory"
case ":$PATH:" in
*":$root/.venv/bin:"*) ;; # active already: what stands before it was put there on purpose
*) [ ! -x "$root/.venv/bin/python" ] || export PATH="$root/.venv/bin:$PATH" ;;
esac
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"

fail() {
  printf 'error: %s\n' "${1//[[:cntrl:]]/?}" >&2
  exit 1
}

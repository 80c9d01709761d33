# Sourced by the three steps: the repository's folder, its environment where there is one, and fail.
root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

if [ -x "$root/.venv/bin/python" ]; then
  export PATH="$root/.venv/bin:$PATH"
fi
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"

#!/usr/bin/env bash
# Makes .venv in the repository root, with torch, fairseq, this package and what its tests need,
# in the versions of constraints.txt. Called by quickstart.sh and tests/run.sh; by itself:
#
#     bash examples/environment.sh                              # about five minutes the first time
#     PYTHON=/opt/python3.12/bin/python3 bash examples/environment.sh
#
# PYTHON names the interpreter for a new .venv; without it the first of python3.11, python3.12,
# python3.13, python3, python that is 3.11 or newer is taken. A second run finds its stamp in .venv,
# installs nothing and needs no network. pip's output goes to .venv/install.log.
set -euo pipefail
unset CDPATH PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX

root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
venv="$root/.venv"
python="$venv/bin/python"
log="$venv/install.log"
stamp="$venv/lev_plugins.stamp"
cpu_index="https://download.pytorch.org/whl/cpu"

fail() {
  printf 'error: %s\n' "${1//[[:cntrl:]]/?}" >&2
  exit 1
}
trap 'trap - INT TERM; fail "interrupted: the same command again takes up where this one stopped"' INT TERM

# --- what is there -------------------------------------------------------------------------------

pin() { # the line of constraints.txt for a package, such as torch==2.13.0
  grep -m 1 "^$1==" "$root/constraints.txt"
}

fingerprint() { # what the installation depends on; fails where a package is missing
  "$python" -I - "$root" <<'PY' 2>/dev/null
import hashlib
import importlib.util
import pathlib
import sys

wanted = "torch fairseq sacrebleu sentencepiece editdistance lev_plugins"
wanted += " codespell_lib hypothesis pytest safetensors tokenizers"
wanted += " fastapi polib selenium spellchecker symspellpy transformers google.protobuf uvicorn"
wanted += " xdist"
if not all(importlib.util.find_spec(name) for name in wanted.split()):
    sys.exit(1)
root = pathlib.Path(sys.argv[1])
state = hashlib.sha256(f"{root} {sys.version}".encode())
for name in ("pyproject.toml", "setup.py", "constraints.txt"):
    state.update((root / name).read_bytes())
print(state.hexdigest())
PY
}

installed() {
  local now
  [ -f "$stamp" ] && now="$(fingerprint)" && [ "$now" = "$(cat "$stamp")" ]
}

version_of() { # 3.11.7; nothing for what cannot be run
  "$1" -I -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null || true
}

recent() { # is this version 3.11 or newer?
  local major minor
  IFS=. read -r major minor _ <<<"$1"
  [ "$major" -gt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -ge 11 ]; }
}

# --- what is needed ------------------------------------------------------------------------------

find_python() { # sets base and base_version
  local name version old="" bare="" found="none"
  for name in ${PYTHON:+"$PYTHON"} python3.11 python3.12 python3.13 python3 python; do
    version="$(version_of "$name")"
    if [ -n "$version" ] && recent "$version"; then
      if "$name" -I -c 'import ensurepip, venv' 2>/dev/null; then
        base="$name" base_version="$version"
        return
      fi
      bare="${bare:-$version}"
    elif [ -n "$version" ]; then
      old="${old:-$version}"
    fi
    if [ -n "${PYTHON:-}" ]; then
      break
    fi
  done
  if [ -n "$bare" ]; then
    fail "Python $bare cannot make environments, its venv module is missing: on Debian and Ubuntu, sudo apt install python${bare%.*}-venv"
  elif [ -n "${PYTHON:-}" ] && [ -z "$old" ]; then
    fail "PYTHON=$PYTHON cannot be run: name a Python 3.11 or newer"
  fi
  if [ -n "$old" ]; then
    found="only Python $old"
  fi
  fail "Python 3.11 or newer is needed, $found was found: install one (Debian and Ubuntu: sudo apt install python3.11 python3.11-venv python3.11-dev) or name it, PYTHON=/path/to/python3.11 bash $0"
}

compiles() { # does this compiler run, and find its standard library?
  printf '#include <string>\nint main() { return 0; }\n' |
    "$@" -x c++ -fsyntax-only - 2>/dev/null
}

find_compiler() { # fairseq is compiled here: choose what works, before anything is downloaded
  local name
  for name in "${CXX:-g++}" g++ c++ clang++ none; do
    # shellcheck disable=SC2086  # CXX may carry options
    if compiles $name; then
      break
    fi
  done
  if [ "$name" = none ]; then
    fail "a C++ compiler is needed and g++, c++ and clang++ do not work here: install one (Debian and Ubuntu: sudo apt install build-essential; macOS: xcode-select --install)"
  fi
  case "$name" in
    g++) ;; # what Python's own build settings name already, together with gcc
    clang++) export CXX=clang++ CC="${CC:-clang}" ;;
    *) export CXX="$name" CC="${CC:-cc}" ;;
  esac
}

find_headers() { # Python.h
  local name="$1" version="$2" include
  include="$("$name" -I -c 'import sysconfig; print(sysconfig.get_path("include"))')"
  if [ ! -f "$include/Python.h" ]; then
    fail "Python $version lacks its C headers ($include/Python.h): on Debian and Ubuntu, sudo apt install python${version%.*}-dev"
  fi
}

# --- making it -----------------------------------------------------------------------------------

in_place() { # was .venv made here? Its commands name the interpreter by its full path.
  [ ! -f "$venv/bin/pip" ] || grep -qF "$venv/bin/" "$venv/bin/pip"
}

usable() {
  [ -n "$(version_of "$python")" ] && in_place && {
    "$python" -I -c 'import pip' 2>/dev/null ||
      "$python" -I -m ensurepip --default-pip >/dev/null 2>&1
  }
}

plan_venv() { # sets plan to what [1/3] says, and base where .venv has to be made
  local version
  base="" plan="making .venv with"
  if [ -e "$venv" ] && [ ! -d "$venv" ]; then
    fail "$venv is not a folder: remove it and run this again"
  fi
  if [ -d "$venv" ] && usable; then
    version="$(version_of "$python")"
    if ! recent "$version"; then
      fail "$venv holds Python $version and 3.11 or newer is needed: remove that folder and run this again"
    fi
    find_headers "$python" "$version"
    plan=".venv is there: Python $version"
    return
  fi
  if [ -d "$venv" ]; then
    plan=".venv is broken or was moved: making it anew with"
  fi
  find_python
  find_headers "$base" "$base_version"
  plan="$plan Python $base_version"
}

make_venv() {
  local said
  if [ -z "$base" ]; then
    return
  fi
  said="$("$base" -I -m venv --clear "$venv" 2>&1)" ||
    fail "cannot make $venv: $(tail -n 1 <<<"$said")"
}

explain() { # one line from the log: what went wrong in $1, and the way out
  local last why="see the log (full disk, no network?) and run this again"
  last="$(grep -E 'fatal error: |^ *[A-Za-z]+Error: |^ *(ERROR|error):' "$log" | tail -n 1 || true)"
  last="$(tr -s '[:space:]' ' ' <<<"${last:-$(tail -n 1 "$log")}" | cut -c 1-300)"
  printf '%s failed: %s (log: %s; its last word: %s)' "$1" "$why" "$log" "${last# }"
}

run_pip() {
  (cd "$root" && "$python" -I -m pip --disable-pip-version-check --no-input "$@") >>"$log" 2>&1
}

install_torch() {
  # PyPI's torch for Linux brings gigabytes of CUDA along. Without an NVIDIA driver PyTorch's own
  # index is asked first; where it cannot be reached the ordinary way below does it all.
  if [ "$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null; then
    run_pip install --no-deps --retries 0 --timeout 15 --extra-index-url "$cpu_index" \
      "$(pin torch)" || true
  fi
  : >"$log"
  # editdistance is here because it has no wheel for every Python, and building it needs isolation.
  run_pip install "$(pin torch)" "$(pin numpy)" "$(pin Cython)" "$(pin setuptools)" "$(pin wheel)" \
    "$(pin editdistance)" || fail "$(explain "installing torch")"
}

fairseq_loads() { # the compiled parts, against this torch
  "$python" -I -c 'import torch, fairseq.libbase, fairseq.libnat, fairseq.data.data_utils_fast' \
    >>"$log" 2>&1
}

install_package() {
  # With CUDA_HOME set the build wants CUDA sources that the release lacks; -g0 halves its size.
  # For Python 3.12 there is a wheel on PyPI, compiled against some older torch: it does not load.
  local compiled="--no-build-isolation --no-binary fairseq-fixed"
  unset CUDA_HOME
  export CFLAGS="-g0"
  # shellcheck disable=SC2086
  run_pip install $compiled -c constraints.txt -e '.[test]' ||
    fail "$(explain "installing lev_plugins")"
  if ! fairseq_loads; then
    # pip's cache does not record which torch a wheel was compiled against.
    # shellcheck disable=SC2086
    run_pip install $compiled --no-cache-dir --no-deps --force-reinstall \
      "$(pin fairseq-fixed)" || fail "$(explain "compiling fairseq")"
    fairseq_loads || fail "$(explain "loading fairseq")"
  fi
}

# --- the way -------------------------------------------------------------------------------------

if command -v flock >/dev/null; then # quickstart.sh and run.sh may be started side by side
  exec 9<"$root/pyproject.toml"
  flock -n 9 || {
    echo "another installation is under way here: waiting for it"
    flock 9
  }
fi
if installed; then
  echo "environment: .venv is complete, nothing to install"
  exit 0
fi
plan_venv
find_compiler
echo "[1/3] $plan"
make_venv
rm -f "$stamp"
: >"$log"
echo "[2/3] installing $(pin torch) and the build tools (log: .venv/install.log)"
install_torch
echo "[3/3] compiling fairseq and installing lev_plugins (about two minutes)"
install_package
fingerprint >"$stamp.new" || fail "$(explain "checking the packages")"
mv "$stamp.new" "$stamp"
echo "environment: .venv is ready (Python $(version_of "$python"), $(pin torch))"

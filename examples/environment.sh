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
unset PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
venv="$root/.venv"
python="$venv/bin/python"
log="$venv/install.log"
stamp="$venv/lev_plugins.stamp"
cpu_index="https://download.pytorch.org/whl/cpu"

trap 'trap - INT TERM; fail "interrupted: the same command again takes up where this one stopped"' INT TERM

state() { # a number that changes with what the installation depends on
  { printf '%s\n' "$root" "$("$python" -V 2>&1)" && cat "$root"/{pyproject.toml,setup.py,constraints.txt}; } | cksum
}

version_of() { # 3.11.7; nothing for what cannot be run
  "$1" -I -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null || true
}

recent() { # is this version 3.11 or newer?
  [[ "$1" =~ ^3\.(1[1-9]|[2-9][0-9])\. ]]
}

usable() { # has .venv a recent Python, and was it made here? Its commands name that by its full path.
  recent "$(version_of "$python")" && { [ ! -f "$venv/bin/pip" ] || grep -qF "$venv/bin/" "$venv/bin/pip"; }
}

find_python() { # sets base and version
  local found="" include names=(python3.11 python3.12 python3.13 python3 python)
  [ -z "${PYTHON:-}" ] || names=("$PYTHON")
  for base in "${names[@]}"; do
    version="$(version_of "$base")" && recent "$version" && break
    found="${found:-$version}"
  done
  recent "$version" ||
    fail "Python 3.11 or newer is needed (found: ${found:-none}): install one (Debian and Ubuntu: sudo apt install python3.11 python3.11-venv python3.11-dev) or name it, PYTHON=/path/to/python3.11 bash $0"
  "$base" -I -c 'import ensurepip, venv' 2>/dev/null ||
    fail "Python $version lacks the venv module: on Debian and Ubuntu, sudo apt install python${version%.*}-venv"
  include="$("$base" -I -c 'import sysconfig; print(sysconfig.get_path("include"))')"
  [ -f "$include/Python.h" ] ||
    fail "Python $version lacks its C headers ($include/Python.h): on Debian and Ubuntu, sudo apt install python${version%.*}-dev"
}

find_compiler() { # fairseq is compiled here: choose what works, before anything is downloaded
  local name
  for name in "${CXX:-g++}" g++ c++ clang++ none; do
    # shellcheck disable=SC2086  # CXX may carry options
    printf '#include <string>\n' | $name -x c++ -fsyntax-only - 2>/dev/null && break
  done
  case "$name" in
    none) fail "a C++ compiler is needed and g++, c++ and clang++ do not work here: install one (Debian and Ubuntu: sudo apt install build-essential; macOS: xcode-select --install)" ;;
    g++) unset CXX ;; # what Python's own build settings name already, together with gcc
    clang++) export CXX=clang++ CC="${CC:-clang}" ;;
    *) export CXX="$name" CC="${CC:-cc}" ;;
  esac
}

explain() { # one line from the log: what went wrong in $1, and the way out
  local last why="see the log (full disk, no network?) and run this again"
  last="$(grep -E 'fatal error: |^ *[A-Za-z]+Error: |^ *(ERROR|error):' "$log" | tail -n 1 || true)"
  last="$(tr -s '[:space:]' ' ' <<<"${last:-$(tail -n 1 "$log")}" | cut -c 1-300)"
  printf '%s failed: %s (log: %s; last message: %s)' "$1" "$why" "$log" "${last# }"
}

run_pip() {
  (cd "$root" && "$python" -I -m pip --disable-pip-version-check --no-input "$@") >>"$log" 2>&1
}

fairseq_loads() { # the compiled parts, against this torch
  "$python" -I -c 'import torch, fairseq.libbase, fairseq.libnat, fairseq.data.data_utils_fast' >>"$log" 2>&1
}

# fairseq asks for torchaudio. PyPI's is built for CUDA and does not load beside a torch without, nor
# does transformers then, which imports it where it is. Nothing here reads sound: without its compiled
# parts it loads, and pip counts it as installed.
repair_torchaudio() {
  "$python" -I -c 'import torchaudio' >>"$log" 2>&1 && return
  local home
  home="$("$python" -I -c 'from importlib.util import find_spec as find; print(*find("torchaudio").submodule_search_locations)' 2>>"$log")" || return 0
  rm -f "$home"/lib/*torchaudio*.so
}

if command -v flock >/dev/null; then # may be started twice side by side: the second waits
  exec 9<"$root/pyproject.toml"
  flock 9
fi
if [ -f "$stamp" ] && [ "$(state)" = "$(cat "$stamp")" ]; then
  echo "environment: .venv is complete, nothing to install"
  exit 0
fi
if ! usable; then
  [ ! -e "$venv" ] || fail "$venv is broken, was made elsewhere, or holds a Python before 3.11: remove it and run this again"
  find_python
fi
find_compiler
if [ -e "$venv" ]; then
  echo "[1/3] .venv exists"
else
  echo "[1/3] making .venv with Python $version"
  said="$("$base" -I -m venv "$venv" 2>&1)" || fail "cannot make $venv: $(tail -n 1 <<<"$said")"
fi
rm -f "$stamp"
"$python" -I -m pip --version >"$log" 2>&1 || "$python" -I -m ensurepip --default-pip >"$log" 2>&1 || fail "$(explain "installing pip")"
echo "[2/3] installing $(pin torch) and the build tools (log: .venv/install.log)"
# PyPI's torch for Linux brings gigabytes of CUDA along. Without an NVIDIA driver PyTorch's own
# index is asked first; where it cannot be reached the ordinary way below does it all.
if [ "$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null; then
  run_pip install --no-deps --retries 0 --timeout 15 --extra-index-url "$cpu_index" "$(pin torch)" || true
fi
: >"$log"
# editdistance is here because it has no wheel for every Python, and building it needs isolation.
run_pip install "$(pin torch)" "$(pin numpy)" "$(pin Cython)" "$(pin setuptools)" "$(pin wheel)" \
  "$(pin editdistance)" || fail "$(explain "installing torch")"
echo "[3/3] compiling fairseq and installing lev_plugins (about two minutes)"
# With CUDA_HOME set the build wants CUDA sources that the release lacks; -g0 halves its size.
# For Python 3.12 there is a wheel on PyPI, compiled against some older torch: it does not load.
compiled="--no-build-isolation --no-binary fairseq-fixed"
unset CUDA_HOME
export CFLAGS="-g0"
# shellcheck disable=SC2086
run_pip install $compiled -c constraints.txt -e '.[train,test]' || fail "$(explain "installing lev_plugins")"
if ! fairseq_loads; then
  # pip's cache does not record which torch a wheel was compiled against.
  # shellcheck disable=SC2086
  run_pip install $compiled --no-cache-dir --no-deps --force-reinstall "$(pin fairseq-fixed)" ||
    fail "$(explain "compiling fairseq")"
  fairseq_loads || fail "$(explain "loading fairseq")"
fi
repair_torchaudio
state >"$stamp"
echo "environment: .venv is ready ($("$python" -V), $(pin torch))"

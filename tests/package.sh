#!/usr/bin/env bash
# Is what is built what a user and a package index need? Builds sdists from the files that git knows,
# wheels from the sdists, has twine check them, installs the wheel with the extras of lev-serve and
# lev-export into a fresh environment outside of the repository, and without extras into another one,
# and calls it there; then lev_runtime alone. Some minutes: torch and fairseq are installed once more.
#
#     bash tests/package.sh
set -euo pipefail
unset PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX CUDA_HOME

source "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
bash "$root/examples/environment.sh"
built_with="$root/.venv/bin/python"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/source" "$work/dist" "$work/elsewhere"

at_most() { # megabytes, of a file or folder
  local size
  size="$(du -sm "$2" | cut -f 1)"
  [ "$size" -le "$1" ] || fail "$2 has $size MB, more than $1"
  echo "$(basename "$2"): $size MB"
}

echo "[1/4] building sdists, and wheels from them, as an index takes them"
git -C "$root" ls-files -z | (cd "$root" && xargs -0 cp --parents -t "$work/source")
"$built_with" -m venv "$work/tools"
"$work/tools/bin/python" -m pip --disable-pip-version-check --no-input install -q build twine \
  "$(pin setuptools)" "$(pin wheel)"
for source in "$work/source" "$work/source/lev_runtime"; do
  "$work/tools/bin/python" -m build -n -o "$work/dist" "$source" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2 && exit 1; }
done
"$work/tools/bin/twine" check --strict "$work"/dist/*
wheel="$(ls "$work"/dist/lev_plugins-*.whl)"
at_most 16 "$wheel"
# what git knows, no more and no fewer: all of it in the sdist, of the package in the wheel
diff <(git -C "$root" ls-files | grep -v '^\.gitignore$') \
  <(tar -tzf "$work"/dist/lev_plugins-*.tar.gz | grep -v '/$' | cut -d / -f 2- |
    grep -vE '\.egg-info/|^(PKG-INFO|setup.cfg)$' | LC_ALL=C sort)
diff <(git -C "$root" ls-files lev_correct lev_memory lev_plugins lev_runtime lev_serve) \
  <("$built_with" -m zipfile -l "$wheel" | awk 'NR > 1 && !/\.dist-info\// { print $1 }' | LC_ALL=C sort)

echo "[2/4] installing the wheel into a fresh environment"
"$built_with" -m venv "$work/venv"
install() {
  "$work/venv/bin/python" -m pip --disable-pip-version-check --no-input install -q \
    -c "$root/constraints.txt" "$@"
}
if [ "$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null; then
  # without PyTorch's own index the ordinary one, with CUDA, does it below
  install --no-deps --retries 0 --timeout 15 \
    --extra-index-url https://download.pytorch.org/whl/cpu "$(pin torch)" 2>/dev/null || true
fi
install "$(pin torch)" "$(pin numpy)" "$(pin Cython)" "$(pin setuptools)" "$(pin wheel)" \
  "$(pin editdistance)"
CFLAGS=-g0 install --no-build-isolation --no-binary fairseq-fixed "$wheel[train,serve,export]"
"$work/venv/bin/python" -m pip check

echo "[3/4] calling it from another folder"
cd "$work/elsewhere"
mkdir data text # of somebody else, as in any project
touch data/train.csv dict.txt config.yaml
PATH="$work/venv/bin:$PATH"
python -m lev_plugins >/dev/null
for script in correct serve memory trace report preprocess noise enct5-prepare predict average backbone embeddings export; do
  "lev-$script" --help >/dev/null
done
python -c "
import lev_plugins
from lev_correct import Corrector
from lev_plugins import EncT5, LevenshteinEditor
from lev_serve import app
assert '$work/venv' in lev_plugins.__file__, lev_plugins.__file__
"
fairseq-train --user-dir lev_plugins --task translation_edit --arch levenshtein_editor \
  --help >/dev/null
"$built_with" -m venv "$work/core" # without torch and fairseq
"$work/core/bin/python" -m pip --disable-pip-version-check --no-input install -q \
  -c "$root/constraints.txt" "$wheel"
at_most 275 "$work/core"
for place in "$work/venv" "$work/core"; do
  corrected="$(echo "Teh goverment beleives" | "$place/bin/lev-correct")"
  [ "$corrected" = "The government believes" ] || fail "lev-correct wrote: $corrected"
done
echo "[4/4] installing the runtime alone, which reads what was exported"
lev-export "$(python -c 'import lev_correct.packaged as p; print(p.ENGLISH_SPELLING)')" exported
"$built_with" -m venv "$work/alone"
"$work/alone/bin/python" -m pip --disable-pip-version-check --no-input install -q \
  -c "$root/constraints.txt" "$work"/dist/lev_runtime-*.whl
"$work/alone/bin/python" -c "
from lev_runtime.beam.prefixes import PrefixModel
PrefixModel('exported').prefixes([[4, 5, 2]])
"
echo "the package is whole"

#!/usr/bin/env bash
# Runs the tests that compute under the kernels of other machines: torch, oneDNN and MKL each choose
# theirs by processor and by number of threads, and every one rounds in another order.
#
#     bash tests/kernels.sh                 # all four settings, by hand
#     bash tests/kernels.sh avx2 plain      # these settings alone, as the continuous integration does
#
# A few settings that hold every value together, not all combinations; tests/run.sh is one more:
# what this processor takes by itself. Run are the tests marked `kernels`, those that compare floats.
# LEV_THREADS is the number of threads of a test's process (conftest.py).
# MKL takes Intel's kernels on Intel's processors alone; on others it is told here that it is on one.
set -euo pipefail

declare -A settings=(
  [intel]="LEV_PLUGINS_ONEDNN=0"
  [avx2]="LEV_PLUGINS_ONEDNN=0 MKL_ENABLE_INSTRUCTIONS=AVX2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2"
  [plain]="LEV_PLUGINS_ONEDNN=1 MKL_CBWR=COMPATIBLE ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41"
  [threads]="LEV_PLUGINS_ONEDNN=1 ONEDNN_MAX_CPU_ISA=AVX2 LEV_THREADS=3"
)
source "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
cd "$root"
names=("$@")
[ $# -gt 0 ] || names=(intel avx2 plain threads)
bash examples/environment.sh || exit 1
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

preload="" # a library that answers for MKL whether this is an Intel processor
if [ "$(uname -sm)" = "Linux x86_64" ] && ! grep -q GenuineIntel /proc/cpuinfo; then
  printf 'int mkl_serv_intel_cpu_true(void) { return 1; }\n' >"$folder/intel.c"
  "${CC:-cc}" -shared -fPIC -o "$folder/intel.so" "$folder/intel.c"
  preload="LD_PRELOAD=$folder/intel.so"
fi

mapfile -t files < <(grep -rl --include='test_*.py' 'mark\.kernels' tests | sort)
failed=()
for name in "${names[@]}"; do
  with="${settings[$name]?no such setting: choose of intel avx2 plain threads}"
  echo "kernels: $name: $with"
  case "$name" in
    intel | avx2) with="$with $preload" ;;
  esac
  # shellcheck disable=SC2086  # one word for each variable
  env OMP_NUM_THREADS=1 $with .venv/bin/python -m pytest -n auto --maxprocesses 4 \
    --dist loadfile --no-loadscope-reorder --disable-warnings -m "kernels and not long" "${files[@]}" ||
    failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "error: the tests did not pass under the kernels of ${failed[*]}: see above (one alone: bash tests/kernels.sh ${failed[0]})" >&2
  exit 1
fi
echo "kernels: all passed under ${names[*]} in $((SECONDS / 60)) min $((SECONDS % 60)) s"

#!/usr/bin/env bash
# What is worth the time of a machine with a GPU that one has for a quarter of an hour: tests, then speed, then a training.
#
#     LEV_WHEELS=wheels MULTI30K=data/multi30k bash benchmarks/gpu.sh OUT [STEP …]
#     LEV_DEVICE=cpu TINY=1 bash benchmarks/gpu.sh OUT        # the same at a tiny size, without a GPU
#
# LEV_WHEELS: packages that the machine lacks, for OUT/site; no network is needed. PYTHON (python3): the interpreter.
# A step that fails or takes longer than its limit stops no other. The same command skips what has passed. OUT/STEP.txt
# has what a step printed; the status is 1 where one did not pass.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash benchmarks/gpu.sh OUT [STEP …]"
device="${LEV_DEVICE:-cuda}" python="$(command -v "${PYTHON:-python3}")" || fail "PYTHON=$PYTHON cannot be run"
one_of LEV_DEVICE "$device" cuda cpu
mkdir -p "$1/bin" || fail "cannot make folders in $1"
out="$(cd "$1" && pwd)" wanted=" ${*:2} " bad=0
# the examples call fairseq's commands, which run in this interpreter
for program in train generate; do
  printf '#!/bin/sh\nexec "%s" -m fairseq_cli.%s "$@"\n' "$python" "$program" >"$out/bin/fairseq-$program"
done
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >"$out/bin/python"
chmod +x "$out"/bin/*
export PATH="$out/bin:$PATH" PYTHONPATH="$out/site:$PYTHONPATH" LEV_DEVICE="$device" PYTHONUNBUFFERED=1
cd "$root" || exit 1

step() { # step NAME SECONDS COMMAND…
  local name="$1" limit="$2" begun="$SECONDS" said=passed
  [[ "$wanted" == "  " || "$wanted" == *" $name "* ]] && [ ! -e "$out/$name.passed" ] || return 0
  timeout --kill-after=20 "$limit" "${@:3}" >"$out/$name.txt" 2>&1 || { said="status $?" bad=1; }
  [ "$said" != passed ] || touch "$out/$name.passed"
  echo "== $name: $said after $((SECONDS - begun)) s"
  tail -n 25 "$out/$name.txt"
}

[ -z "${LEV_WHEELS:-}" ] || step install 120 python -m pip install -q --no-index --no-deps --no-compile --no-cache-dir \
  --upgrade --target "$out/site" "$LEV_WHEELS"/*.whl

tests=(tests/ops tests/nn tests/decoding tests/systems tests/optim) sizes=() updates=2000
updated=(--batch 160 --sentences 1600) decoded=(--batch 1 64 160 --sentences 320)
if [ "${TINY:-0}" = 1 ]; then
  tests=(tests/ops) sizes=(--dim 16 --ffn 16 --layers 1 --heads 2 --vocab 60 --length 6) updates=2
  updated=(--batch 3 --sentences 6) decoded=(--batch 1 3 --sentences 6)
fi
step tests 300 python -m pytest -q -p no:cacheprovider -n "${WORKERS:-4}" --dist loadfile -m "device and not slow and not long" "${tests[@]}"
for kind in fp32 bf16; do
  bits=(--device "$device" ${sizes[@]+"${sizes[@]}"} $([ "$kind" = fp32 ] || echo --bf16))
  step "updates-$kind" 60 python benchmarks/speed.py updates "${bits[@]}" "${updated[@]}"
  step "decoding-$kind" 60 python benchmarks/speed.py decoding "${bits[@]}" "${decoded[@]}"
done
if [ -n "${MULTI30K:-}" ]; then
  work="$out/multi30k"
  [ -e "$work/data" ] || step prepare 60 bash examples/translation/prepare.sh "$MULTI30K" "$work"
  for system in ar levt; do
    step "train-$system" 150 env UPDATES="$updates" bash examples/translation/train.sh "$work" "$system" --max-tokens 8000
  done
  step scores 120 bash examples/translation/evaluate.sh "$work"
fi
exit "$bad"

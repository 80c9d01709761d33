#!/usr/bin/env bash
# All that is worth the time of a machine with a GPU that one has for half an hour:
#
#     LEV_WHEELS=wheels LEV_DATA=data bash benchmarks/gpu.sh OUT
#     bash benchmarks/gpu.sh OUT speed-bf16 speed-fp16        # these steps alone
#     LEV_DEVICE=cpu TINY=1 bash benchmarks/gpu.sh OUT        # the same at a tiny size, without a GPU
#
# The steps: install (the wheels of LEV_WHEELS, into OUT/site; no network is needed), tests-FOLDER (the test
# suite), speed-KIND (levt_speed.py beside stock), against-ar, and from the data sets in LEV_DATA trainings
# and their scores: Multi30k (multi30k), post-editing (ape_ende), Finnish OCR (finnish_ocr/fold0).
#
# Each step has a time limit of its own, MORE times as long with MORE=2. One that fails or takes longer does
# not stop the next; the same command again skips what has passed, and a training resumes from its checkpoint.
# OUT/STEP.txt and .log get what a step prints, OUT/summary.md one row for each and all tables. The exit status
# is 2 where a step did not pass. JOBS (4) folders of tests run at a time. PYTHON (python3) is the interpreter.
set -uo pipefail
unset CDPATH

root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
fail() {
  printf 'error: %s\n' "$1" >&2
  exit 2
}

[ $# -ge 1 ] || fail "a folder is needed: bash benchmarks/gpu.sh OUT [STEP …]"
device="${LEV_DEVICE:-cuda}" tiny="${TINY:-0}" more="${MORE:-1}" jobs="${JOBS:-4}"
[[ "$device" =~ ^(cuda|cpu)$ ]] || fail "LEV_DEVICE=$device: cuda or cpu"
[[ "$more" =~ ^[1-9][0-9]*$ ]] || fail "MORE=$more: give a number of 1 or more"
[[ "$jobs" =~ ^[1-9][0-9]*$ ]] || fail "JOBS=$jobs: give a number of 1 or more"
[ -z "${LEV_WHEELS:-}" ] || [ -d "$LEV_WHEELS" ] || fail "LEV_WHEELS=$LEV_WHEELS is no folder"
[ -z "${LEV_DATA:-}" ] || [ -d "$LEV_DATA" ] || fail "LEV_DATA=$LEV_DATA is no folder"
mkdir -p "$1/state" "$1/bin" || fail "cannot make folders in $1: name another one"
out="$(cd "$1" && pwd)"
shift
wanted=" $* "
data="${LEV_DATA:+$(cd "$LEV_DATA" && pwd)}" wheels="${LEV_WHEELS:+$(cd "$LEV_WHEELS" && pwd)}"
python="$(command -v "${PYTHON:-python3}")" || fail "PYTHON=${PYTHON:-python3} cannot be run"

# --- where everything runs -----------------------------------------------------------------------

program() { # program NAME WORDS: a program of OUT/bin that runs this interpreter
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$python" "$2" >"$out/bin/$1"
  chmod +x "$out/bin/$1"
}
program python ""
program fairseq-train "-m fairseq_cli.train"
program fairseq-generate "-m fairseq_cli.generate"
# the examples leave a PATH alone that names the repository's environment already
export PATH="$out/bin:$PATH:$root/.venv/bin"
export PYTHONPATH="$out/site:$root${PYTHONPATH:+:$PYTHONPATH}"
export LEV_DEVICE="$device" PYTHONUNBUFFERED=1
if [ "$device" = cuda ]; then
  export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}"
else
  export CUDA_VISIBLE_DEVICES="" OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
fi
cd "$root" || exit 2

# --- steps ---------------------------------------------------------------------------------------

names=()
passed() { # passed STEP: now or in an earlier run?
  [ "$(cut -d ' ' -f 1 "$out/state/$1" 2>/dev/null)" = passed ]
}

run_step() { # run_step STEP SECONDS COMMAND…
  local name="$1" limit="$(($2 * more))" started="$SECONDS" status=0 outcome=passed
  shift 2
  echo "== $name (at most $limit s)"
  timeout --kill-after=20 "$limit" "$@" >"$out/$name.txt" 2>"$out/$name.log" || status=$?
  case "$status" in
  0) ;;
  124 | 137) outcome=stopped ;;
  *) outcome=failed ;;
  esac
  printf '%s %s\n' "$outcome" "$((SECONDS - started))" >"$out/state/$name"
  echo "== $name: $outcome after $((SECONDS - started)) s"
}

step() { # step STEP SECONDS COMMAND…: runs it unless it has passed or was not asked for
  [[ "$wanted" == "  " || "$wanted" == *" $1 "* ]] || return 0
  names+=("$1")
  passed "$1" || run_step "$@"
}

step_beside() { # step, with up to JOBS of them at a time
  [[ "$wanted" == "  " || "$wanted" == *" $1 "* ]] || return 0
  names+=("$1")
  if ! passed "$1"; then
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run_step "$@" &
  fi
}

[ -z "$wheels" ] || step install 120 python -m pip install -q --no-index --no-deps --no-compile --no-cache-dir \
  --upgrade --target "$out/site" "$wheels"/*.whl

# --- the test suite ------------------------------------------------------------------------------

chosen=(-q -p no:cacheprovider -m "not long")
[ "$tiny" = 0 ] || chosen+=(-x -k "compact or masks")
for folder in tests/*/ tests/test_*.py; do
  case "$(basename "$folder" .py)" in
  __pycache__ | test_install*) continue ;; # they install from a network
  esac
  [ "$tiny" = 0 ] || [ "$folder" = tests/ops/ ] || continue
  step_beside "tests-$(basename "$folder" .py)" 540 python -m pytest "${chosen[@]}" "$folder"
done
wait

# --- speed ---------------------------------------------------------------------------------------

sizes=(--device "$device" --steps 10)
large=(--tokens 4000 --batches 1,64,160) # 160 sentences of 25 tokens: 4,000 tokens
[ "$tiny" = 0 ] || sizes=(--device "$device" --steps 1 --dim 16 --ffn 16 --layers 1 --heads 2 --vocab 60 --length 6)
[ "$tiny" = 0 ] || large=(--tokens 60 --batches 1,3 --no-memory)
for kind in fp32 bf16 fp16; do
  reduced=()
  [ "$kind" = fp32 ] || reduced=("--$kind")
  step "speed-$kind" 120 python benchmarks/levt_speed.py "${sizes[@]}" "${large[@]}" ${reduced[@]+"${reduced[@]}"} --drafts
  [ "$tiny" = 1 ] || step "speed-$kind-300" 90 python benchmarks/levt_speed.py "${sizes[@]}" --tokens 4000 \
    --length 300 --no-decoding --no-memory ${reduced[@]+"${reduced[@]}"}
done
step against-ar 90 python benchmarks/levt_against_ar.py "${sizes[@]}"

# --- trainings -----------------------------------------------------------------------------------

size() { # flags of a model of this width
  local side
  for side in encoder decoder; do
    printf -- '--%s-embed-dim %s --%s-ffn-embed-dim %s --%s-layers %s --%s-attention-heads %s ' \
      "$side" "$1" "$side" "$((4 * $1))" "$side" "$2" "$side" "$3"
  done
}

prepare() { # prepare STEP SECONDS SCRIPT DATA WORK: anew, where a time limit has cut it short
  step "$1" "$2" bash -c 'rm -rf "$3/data" && exec bash "examples/$1" "$2" "$3"' - "${@:3}"
}

train() { # train STEP SECONDS UPDATES SCRIPT WORK …: saves often enough to be resumed
  local name="$1" limit="$2" updates="$3" script="$4"
  shift 4
  [ "$tiny" = 0 ] || updates=2
  # shellcheck disable=SC2046  # one word for each flag
  step "$name" "$limit" env UPDATES="$updates" bash "examples/$script" "$@" $flags
}

if [ "$tiny" = 0 ]; then
  flags="$(size 256 3 4) --dropout 0.3 --max-tokens 8000 --num-workers 2 --save-interval-updates 1000 --keep-interval-updates 1"
  export VOCABULARY=8000
else
  flags="$(size 16 1 2) --max-tokens 200 --num-workers 0"
  export VOCABULARY=80
fi

if [ -n "$data" ] && [ -d "$data/multi30k" ]; then
  work="$out/multi30k"
  prepare multi30k-prepare 90 translation/prepare.sh "$data/multi30k" "$work"
  train multi30k-ar 240 4000 translation/train.sh "$work" ar
  train multi30k-stock 300 4000 translation/train.sh "$work" stock
  train multi30k-levt 240 4000 translation/train.sh "$work" levt
  step multi30k-distill 150 bash -c 'rm -rf "$1"/distilled-* && exec bash examples/translation/distill.sh "$1" --max-len-b 60' \
    - "$work"
  train multi30k-distilled 240 4000 translation/train.sh "$work" distilled
  step multi30k-scores 180 env LATENCY="$([ "$tiny" = 0 ] && echo 100 || echo 2)" bash examples/translation/generate.sh "$work"
fi
if [ -n "$data" ] && [ -d "$data/ape_ende" ]; then
  work="$out/post_editing"
  prepare post-editing-prepare 60 post_editing/prepare.sh "$data/ape_ende" "$work"
  train post-editing 180 3000 post_editing/train.sh "$work" scratch
  step post-editing-scores 90 bash examples/post_editing/generate.sh "$work" scratch
fi
if [ -n "$data" ] && [ -d "$data/finnish_ocr/fold0" ]; then
  work="$out/finnish_ocr"
  prepare ocr-prepare 60 spelling_and_ocr/prepare_ocr.sh "$data/finnish_ocr/fold0" "$work"
  train ocr-levt 240 6000 spelling_and_ocr/train_ocr.sh "$work" levt
  step ocr-scores 180 bash examples/spelling_and_ocr/evaluate_ocr.sh "$work" --systems levt --plain
fi

# --- the summary ---------------------------------------------------------------------------------

[ ${#names[@]} -gt 0 ] || fail "no step of the names$wanted"
bad=0
{
  echo "| step | outcome | seconds |"
  echo "|---|---|---|"
  for name in "${names[@]}"; do
    read -r outcome seconds <"$out/state/$name"
    echo "| $name | $outcome | $seconds |"
    [ "$outcome" = passed ] || bad=$((bad + 1))
  done
  for name in "${names[@]}"; do
    case "$name" in
    install | *-prepare | multi30k-[adls]*[!s] | post-editing | ocr-levt) lines=3 ;;
    tests-*) lines=12 ;;
    *) lines=60 ;;
    esac
    printf '\n## %s\n\n' "$name"
    for from in "$out/$name.txt" "$out/$name.log"; do
      [ "$from" = "$out/$name.txt" ] || ! passed "$name" || continue
      tail -n "$lines" "$from" 2>/dev/null | sed 's/^/    /'
    done
  done
} >"$out/summary.md.new"
mv "$out/summary.md.new" "$out/summary.md"
sed -n '/^$/q;p' "$out/summary.md"
[ "$bad" -eq 0 ] || fail "$bad of ${#names[@]} steps did not pass: see $out/summary.md; the same command runs them again"

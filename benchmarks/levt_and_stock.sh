#!/usr/bin/env bash
# LevT beside its authors' code: fairseq's levenshtein_transformer and ours learn from a teacher's translations, in
# equal CPU time.
#
#     bash benchmarks/levt_and_stock.sh DATA WORK [MINUTES [SEEDS [fairseq-train's flags …]]]     # "10 20 40" and "1 2"
#
# DATA is of examples/translation/prepare.sh. Text, sizes, batches and decoding are the same; each has its own
# optimizer, Adam (fairseq's recipe) and Muon (train.sh's). The teacher learns for TEACHER_MINUTES (12), which are not counted.
# WORK/report.json gets the scores of stock-MINUTES-SEED and levt-MINUTES-SEED. Can be repeated: what is there is kept.
set -euo pipefail
unset CDPATH
source "$(dirname "${BASH_SOURCE[0]}")/../examples/recipe.sh"

[ $# -ge 2 ] || fail "two folders are needed: bash benchmarks/levt_and_stock.sh DATA WORK [MINUTES [SEEDS]]" 2
data="$1" work="$2" examples="$root/examples/translation"
budgets="${3:-10 20 40}" seeds="${4:-1 2}" minutes="${TEACHER_MINUTES:-12}"
training=(--disable-validation --processor-time "${@:5}")

teacher="$work/teacher"
[ -d "$teacher/data" ] || bash "$examples/prepare.sh" "$data" "$teacher"
[ -d "$teacher/distilled-data" ] || {
  MINUTES="$minutes" bash "$examples/train.sh" "$teacher" ar --optimizer muon --muon-update-rms 0.4 --lr 0.004 \
    --max-tokens 2500 "${training[@]}"
  bash "$examples/distill.sh" "$teacher"
}
ln -sfn teacher/distilled-data "$work/data"
for part in text pieces spm.model; do ln -sfn "teacher/$part" "$work/$part"; done
systems=()
for seed in $seeds; do
  for minutes in $budgets; do
    for system in stock levt; do
      name="$system-$minutes-$seed"
      systems+=("$name")
      [ -f "$work/$name.log" ] || {
        MINUTES="$minutes" SEED="$seed" bash "$examples/train.sh" "$work" "$system" "${training[@]}" \
          --save-dir "$work/$name" >"$work/$name.part" 2>&1
        mv "$work/$name.part" "$work/$name.log"
      }
    done
  done
done
SYSTEMS="${systems[*]}" exec bash "$examples/evaluate.sh" "$work"

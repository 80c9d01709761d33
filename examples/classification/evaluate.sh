#!/usr/bin/env bash
# Scores on the test set of the models of train.sh, after a baseline without training.
#
#     bash examples/classification/evaluate.sh WORK [SYSTEM …]
#
# SYSTEMs are folders of WORK (default: all with a best checkpoint). lev-predict gets only the text. WORK/output gets its
# predictions, line by line, as SYSTEM.jsonl, and all numbers in scores.json.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [SYSTEM …]"
prepared "$1" kind classification/prepare.sh
shift
trained best "classification/train.sh $work" "$@"
mkdir -p "$work/output"
cut -f 2- "$work/text/test.tsv" >"$work/output/test.txt"
for system in "${chosen[@]}"; do
  lev-predict --path "$work/$system/checkpoint_best.pt" --input "$work/output/test.txt" --output "$work/output/$system.jsonl"
done
exec python "$root/examples/classification/evaluate.py" "$work" "${chosen[@]}"

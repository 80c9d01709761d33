#!/usr/bin/env bash
# One table: no edits, a look-up table, symspellpy, and the models of train_ocr.sh, plain and ranked.
#
#     bash examples/spelling_and_ocr/evaluate_ocr.sh WORK [--lexicon WORDS] [SYSTEM …]
#
# SYSTEMs are folders of WORK (all that have a last checkpoint). Each has two rows: its own output by
# beam search (BEAM, 4), and with its NBEST (10) candidates ranked by the words and corrections of the training text
# (--lexicon: by other words); weights and threshold of the second are tuned on the dev set (DEV_LINES of it, evenly
# spread; all) and kept beside the checkpoint, where `lev-correct` finds them. WORK/output gets the corrected test text,
# line n for line n, as test.SYSTEM, and the numbers as report.json.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [--lexicon WORDS] [SYSTEM …]"
prepared "$1" data spelling_and_ocr/prepare_ocr.sh
shift
lexicon="$work/lexicon.txt" beam="${BEAM:-4}" nbest="${NBEST:-10}" DEV_LINES="${DEV_LINES:-0}"
given_lexicon "$@" && shift "$shifted"
whole BEAM "$beam" hypotheses
whole NBEST "$nbest" hypotheses
number DEV_LINES
trained last "spelling_and_ocr/train_ocr.sh $work pbd" "$@"

out="$work/output" text="$work/text"
mkdir -p "$out"
for side in noisy clean; do
  awk -v lines="$DEV_LINES" 'NR == FNR { all++; next } !lines || int(FNR * lines / all) > int((FNR - 1) * lines / all)' \
    "$text/dev.$side" "$text/dev.$side" >"$out/dev.$side"
done
cp "$text/test.look-up" "$out/test.look-up"
python "$root/examples/spelling_and_ocr/symspell.py" "$lexicon" <"$text/test.noisy" >"$out/test.symspellpy"
names=(look-up symspellpy) unit=(--unit window --window 1) words="$(cat "$work/words")"
! grep -q ' ' "$text/train.clean" || unit=(--unit line)
[ "$words" = 0 ] || unit=(--unit window --window "$words")
for system in "${chosen[@]}"; do
  model=(--path "$work/$system/checkpoint_last.pt" --data "$work/data" --bpe characters "${unit[@]}")
  lev-correct "${model[@]}" --settings none --beam "$beam" "$text/test.noisy" >"$out/test.$system"
  lev-correct tune "${model[@]}" --beam "$nbest" --lexicon "$lexicon" --lookup "$work/lookup.tsv" \
    "$out/dev.noisy" "$out/dev.clean" --tune-weights --goal accuracy >"$out/tune.$system"
  lev-correct "${model[@]}" "$text/test.noisy" >"$out/test.$system-ranked"
  names+=("$system" "$system-ranked")
done
python -m lev_plugins report --hypotheses "${names[@]/#/$out/test.}" --names "$(IFS=, && echo "${names[*]}")" \
  --drafts "$text/test.noisy" --references "$text/test.clean" --metrics word_accuracy,cer,wer,correction_recall,miscorrection_rate --json "$out/report.json"

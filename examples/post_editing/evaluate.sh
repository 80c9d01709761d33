#!/usr/bin/env bash
# Post-edits the test drafts and scores them beside the drafts themselves:
#
#     bash examples/post_editing/evaluate.sh WORK [WAY] [fairseq-generate's flags …]
#     SUBSET=valid bash examples/post_editing/evaluate.sh WORK finetuned --delete-threshold 0.7
#
# WAY is scratch (the default), translation, finetuned or concat, as in train.sh; translation gets the drafts
# that it was not trained with. CHECKPOINT names a checkpoint other than the last, SUBSET=valid takes the development
# set, to choose flags on. WORK/generate.WAY.txt and .log get what fairseq-generate prints, WORK/report.WAY.json the
# numbers.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [WAY] [flags …]"
prepared "$1" data post_editing/prepare.sh
way=scratch subset="${SUBSET:-test}"
shift
[[ "${1:--}" == -* ]] || { way="$1" && shift; }
one_of way "$way" scratch translation finetuned concat
one_of SUBSET "$subset" test valid
checkpoint="${CHECKPOINT:-$work/$way/checkpoint_last.pt}" text="$work/text/${subset/valid/dev}"
[ -f "$checkpoint" ] || fail "no checkpoint $checkpoint: bash examples/post_editing/train.sh $work $way makes one"
recipe=(--task translation_edit --iter-decode-max-iter 10 --print-step)
[ "$way" != concat ] || recipe=(--task translation_concat --beam 4)

fairseq-generate "$work/data" --user-dir "$root/lev_plugins" "${recipe[@]}" \
  --source-lang src --target-lang pe --draft-lang mt --max-source-positions 256 --max-target-positions 256 \
  --path "$checkpoint" --gen-subset "$subset" --batch-size 64 \
  --bpe sentencepiece --sentencepiece-model "$work/spm.model" "$@" \
  >"$work/generate.$way.txt" 2>"$work/generate.$way.log" ||
  fail "fairseq-generate failed: $(tail -n 1 "$work/generate.$way.log") ($work/generate.$way.log)"
python -m lev_plugins report "$work/generate.$way.txt" --names "$way" --drafts "$text.mt" --references "$text.pe" \
  --metrics bleu,ter_normalized,accuracy --json "$work/report.$way.json"

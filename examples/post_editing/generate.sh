#!/usr/bin/env bash
# Post-edits the test drafts and scores them beside the drafts themselves:
#
#     bash examples/post_editing/generate.sh WORK [WAY] [fairseq-generate's flags …]
#     CHECKPOINT=my.pt bash examples/post_editing/generate.sh WORK --iter-decode-eos-penalty 1
#     SUBSET=valid bash examples/post_editing/generate.sh WORK finetuned --delete-threshold 0.7
#     CAREFUL=1 bash examples/post_editing/generate.sh WORK finetuned
#
# WAY is scratch (where none is named), translation, finetuned or concat, as in train.sh; translation gets
# the drafts that it was not trained with. CHECKPOINT names another checkpoint than the last, SUBSET=valid
# takes the development set, to choose flags on. WORK/generate.WAY.bleu.txt and .ter.txt get what
# fairseq-generate prints with --scoring sacrebleu and ter, the .log files its messages, and
# WORK/scores.WAY.SUBSET.json the numbers. CAREFUL=1 keeps an
# edited test sentence only where a rule chosen on the development set says so, and all drafts where no rule
# pays; WORK/careful.WAY.txt gets the sentences.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
subset="${SUBSET:-test}"

[ $# -ge 1 ] || fail "a folder is needed: bash examples/post_editing/generate.sh WORK [WAY] [flags …]"
[ -d "$1" ] || fail "no folder $1: bash examples/post_editing/prepare.sh DATA $1 makes it"
work="$(cd "$1" && pwd)"
shift
way=scratch
if [[ "${1:--}" != -* ]]; then
  way="$1"
  shift
fi
recipe=(--task translation_edit --iter-decode-max-iter 10 --print-step)
saved="$work/$way"
case "$way" in
scratch) saved="$work/checkpoints" ;;
translation | finetuned) ;;
concat) recipe=(--task translation_concat --beam 4) ;;
*) fail "no way $way: scratch, translation, finetuned or concat" ;;
esac
case "$subset" in
test) part=test ;;
valid) part=dev ;;
*) fail "SUBSET=$subset: test or valid" ;;
esac
checkpoint="${CHECKPOINT:-$saved/checkpoint_last.pt}"
[ -d "$work/data" ] || fail "no data in $work: bash examples/post_editing/prepare.sh DATA $work makes them"
[ -f "$checkpoint" ] || fail "no checkpoint $checkpoint: bash examples/post_editing/train.sh $work $way makes one"

generate() { # generate NAME SUBSET FLAGS…
  local out="$work/generate.$way.$1.txt" log="$work/generate.$way.$1.log" subset="$2"
  shift 2
  fairseq-generate "$work/data" --user-dir "$root/lev_plugins" "${recipe[@]}" \
    --source-lang src --target-lang pe --draft-lang mt \
    --max-source-positions 256 --max-target-positions 256 --skip-invalid-size-inputs-valid-test \
    --path "$checkpoint" --gen-subset "$subset" --batch-size 64 \
    --bpe sentencepiece --sentencepiece-model "$work/spm.model" "$@" >"$out" 2>"$log" ||
    fail "fairseq-generate failed: $(tail -n 1 "$log") ($log)"
  grep "^Generate" "$out" || fail "fairseq-generate gave no score: see $out"
}

if [ "${CAREFUL:-0}" = 1 ]; then
  for each in valid test; do
    generate "careful-$each" "$each" --scoring sacrebleu "$@"
  done
  exec python "$root/examples/post_editing/careful.py" "$work/text" \
    "$work/generate.$way.careful-valid.txt" "$work/generate.$way.careful-test.txt" "$work/careful.$way.txt"
fi
generate bleu "$subset" --scoring sacrebleu "$@"
generate ter "$subset" --scoring ter --ter-normalized --ter-case-sensitive "$@"

python "$root/examples/post_editing/scores.py" \
  "$work/text/$part.mt" "$work/text/$part.pe" "$work/generate.$way.bleu.txt" \
  "$work/scores.$way.$subset.json"

#!/usr/bin/env bash
# Trains a small post-editor on what prepare.sh made, in one of the ways of Table 3:
#
#     bash examples/post_editing/train.sh WORK [WAY] [fairseq-train's flags …]
#     UPDATES=20000 SEED=2 bash examples/post_editing/train.sh WORK finetuned --max-tokens 4000
#
# scratch      from the triples alone, into WORK/checkpoints; the way where none is named
# translation  a translation model, from the sources and post-edits without their drafts, into
#              WORK/translation: it post-edits as it is ("zero-shot"), and is where finetuned starts
# finetuned    from the triples, starting from WORK/translation or START, into WORK/finetuned
# concat       the autoregressive baseline (§C.2), which reads source and draft, into WORK/concat
#
# UPDATES (300) is the length of the training: the learning rate falls to zero just then. Flags given
# here come last and win. A second call resumes where the first one stopped. A GPU is used where there is
# one.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
updates="${UPDATES:-300}"
seed="${SEED:-1}"

[ $# -ge 1 ] || fail "a folder is needed: bash examples/post_editing/train.sh WORK [WAY] [flags …]"
[ -d "$1" ] || fail "no folder $1: bash examples/post_editing/prepare.sh DATA $1 makes it"
work="$(cd "$1" && pwd)"
shift
way=scratch
if [[ "${1:--}" != -* ]]; then
  way="$1"
  shift
fi
[ -d "$work/data" ] || fail "no data in $work: bash examples/post_editing/prepare.sh DATA $work makes them"
whole UPDATES "$updates" updates
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"

recipe=(--task translation_edit --arch levenshtein_editor_small --criterion edit_policy_loss)
triples=(--draft-lang mt --alpha 0.5 --beta 0.5)
saved="$work/$way"
case "$way" in
scratch)
  recipe+=("${triples[@]}")
  saved="$work/checkpoints"
  ;;
translation) ;;
finetuned)
  start="${START:-$work/translation/checkpoint_last.pt}"
  [ -f "$start" ] || fail "no checkpoint $start: bash examples/post_editing/train.sh $work translation makes one"
  recipe+=("${triples[@]}" --finetune-from-model "$start")
  ;;
concat)
  recipe=(--task translation_concat --draft-lang mt --arch transformer_concat_small
    --criterion label_smoothed_cross_entropy)
  ;;
*) fail "no way $way: scratch, translation, finetuned or concat" ;;
esac

exec fairseq-train "$work/data" \
  --user-dir "$root/lev_plugins" --source-lang src --target-lang pe "${recipe[@]}" \
  --bpe sentencepiece --sentencepiece-model "$work/spm.model" \
  --share-all-embeddings --dropout 0.1 --label-smoothing 0.1 \
  --max-source-positions 256 --max-target-positions 256 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
  --lr 0.001 --lr-scheduler polynomial_decay --warmup-updates "$((updates / 10 + 1))" \
  --total-num-update "$updates" --max-update "$updates" \
  --max-tokens 2000 --seed "$seed" \
  --save-dir "$saved" --no-epoch-checkpoints \
  --skip-invalid-size-inputs-valid-test \
  --log-format simple --log-interval 20 "$@"

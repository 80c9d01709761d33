#!/usr/bin/env bash
# Trains a small post-editor on what prepare.sh made, in one of the ways of Table 3:
#
#     bash examples/post_editing/train.sh WORK [WAY] [fairseq-train's flags …]
#     UPDATES=20000 SEED=2 bash examples/post_editing/train.sh WORK finetuned --max-tokens 4000
#
# scratch      from the triples alone; the default
# translation  a translation model, from sources and post-edits without drafts: it post-edits as it is
#              ("zero-shot"), and is where finetuned starts
# finetuned    from the triples, starting from WORK/translation or START
# concat       the autoregressive baseline (§C.2), which reads source and draft
#
# UPDATES (300) is the length of the training, or with MINUTES=N the time: the learning rate falls to zero at its end.
# SEED is 1. Flags given here override the script's. WORK/WAY gets the checkpoints; a second call resumes from there. A
# GPU is used where there is one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [WAY] [flags …]"
prepared "$1" data post_editing/prepare.sh
way=scratch updates="${UPDATES:-300}" SEED="${SEED:-1}"
shift
[[ "${1:--}" == -* ]] || { way="$1" && shift; }
one_of way "$way" scratch translation finetuned concat
number SEED
budget "$updates" 'updates / 10 + 1' "${MINUTES:-}"

recipe=(--task translation_edit --arch levenshtein_editor_small --criterion edit_policy_loss)
[ "$way" = translation ] || recipe+=(--draft-lang mt --alpha 0.5 --beta 0.5)
case "$way" in
finetuned)
  start="${START:-$work/translation/checkpoint_last.pt}"
  [ -f "$start" ] || fail "no checkpoint $start: bash examples/post_editing/train.sh $work translation makes one"
  recipe+=(--finetune-from-model "$start")
  ;;
concat) recipe=(--task translation_concat --draft-lang mt --arch transformer_concat_small
  --criterion label_smoothed_cross_entropy) ;;
esac

exec fairseq-train "$work/data" --user-dir "$root/lev_plugins" --source-lang src --target-lang pe "${recipe[@]}" \
  --bpe sentencepiece --sentencepiece-model "$work/spm.model" --share-all-embeddings --dropout 0.1 \
  --label-smoothing 0.1 --max-source-positions 256 --max-target-positions 256 --skip-invalid-size-inputs-valid-test \
  --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr 0.001 "${length[@]}" --max-tokens 2000 \
  --seed "$SEED" --save-dir "$work/$way" --no-epoch-checkpoints --log-format simple --log-interval 20 "$@"

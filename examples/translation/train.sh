#!/usr/bin/env bash
# Trains one system on what prepare.sh made, all of them with the same sizes and length of training:
#
#     bash examples/translation/train.sh WORK ar|stock|levt|distilled [fairseq-train's flags …]
#     UPDATES=20000 SEED=2 bash examples/translation/train.sh WORK levt --max-tokens 4000
#
# ar         fairseq's own transformer, from left to right: the baseline, and the teacher of distill.sh
# stock      fairseq's own levenshtein_transformer
# levt       ours; the expert is the reference ("oracle" in the paper)
# distilled  ours; the expert is the teacher's translation, from distill.sh; it starts from the teacher's
#            parameters (TEACHER=none: from random ones; TEACHER: another checkpoint of these sizes)
#
# UPDATES (1500) is the length of the training, or with MINUTES=N the time: the learning rate falls to zero just
# then. SEED is 1. ROTARY=0 leaves --rotary-positions out of levt and distilled. Flags given here override the script's.
# WORK/ar, WORK/stock and so on get the checkpoints; a second call resumes from there. checkpoint_best.pt is the best by
# BLEU of the validation set, but of stock, whose task computes none, by loss. A GPU is used if there is one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 2 ] || fail "a folder and a system are needed: bash $here WORK ar|stock|levt|distilled [flags …]"
prepared "$1" data translation/prepare.sh
system="$2" data="$work/data" updates="${UPDATES:-1500}" SEED="${SEED:-1}"
shift 2
number SEED
one_of system "$system" ar stock levt distilled
budget "$updates" 'updates / 10 + 1' "${MINUTES:-}"
both_sides 128 2
optimizer=(--optimizer adam --lr 0.002)
select=(--eval-bleu --eval-bleu-remove-bpe sentencepiece --best-checkpoint-metric bleu --maximize-best-checkpoint-metric)
case "$system" in
ar) recipe=(--task translation --arch transformer --criterion label_smoothed_cross_entropy --label-smoothing 0.1) ;;
stock)
  recipe=(--task translation_lev --noise random_delete --arch levenshtein_transformer --criterion nat_loss)
  select=()
  ;;
*) # by these weights each head counts as much as it does in fairseq's, where each loss is a mean
  recipe=(--task translation_edit --arch levenshtein_editor --criterion edit_policy_loss
    --label-smoothing 0 --placeholder-weight 2 --token-weight 2
    --beta 0.25 --kept-tokens incomplete --token-masking uniform)
  [ "${ROTARY:-1}" = 0 ] || recipe+=(--rotary-positions)
  optimizer=(--optimizer muon --muon-update-rms 0.4 --lr 0.004)
  ;;
esac
case " $* " in *" --optimizer "*) optimizer=(--lr 0.002) ;; esac # another optimizer knows no --muon-update-rms
if [ "$system" = distilled ]; then
  prepared "$work" distilled-data translation/distill.sh
  data="$work/distilled-data" teacher="${TEACHER:-$(best "$work/ar" || echo "$work/ar")}"
  [ "$teacher" = none ] || [ -f "$teacher" ] || fail "no teacher $teacher: give TEACHER=none, or a checkpoint in TEACHER"
  [ "$teacher" = none ] || recipe+=(--finetune-from-model "$teacher")
fi

exec fairseq-train "$data" --user-dir "$root/lev_plugins" "${recipe[@]}" ${select[@]+"${select[@]}"} "${sizes[@]}" \
  --bpe sentencepiece --sentencepiece-model "$work/spm.model" --share-all-embeddings --dropout 0.1 \
  ${optimizer[@]+"${optimizer[@]}"} --adam-betas '(0.9, 0.98)' --clip-norm 1.0 "${length[@]}" --max-tokens 1800 --seed "$SEED" \
  --save-dir "$work/$system" --no-epoch-checkpoints --log-format simple --log-interval 50 "$@"

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
# UPDATES (1500) is the length of the training, or with MINUTES=N the time: the learning rate falls to
# zero just then. Flags given here come last and win. WORK/ar, WORK/stock and so on get the checkpoints; a second call resumes from
# there. A GPU is used where there is one.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"
updates="${UPDATES:-1500}"
seed="${SEED:-1}"

[ $# -ge 2 ] || fail "a folder and a system are needed: bash examples/translation/train.sh WORK ar|stock|levt|distilled [flags …]"
[ -d "$1/data" ] || fail "no data in $1: bash examples/translation/prepare.sh DATA $1 makes them"
work="$(cd "$1" && pwd)"
system="$2"
shift 2
whole UPDATES "$updates" updates
minutes="${MINUTES:-}"
[ -z "$minutes" ] || whole MINUTES "$minutes" minutes
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"

data="$work/data"
optimizer=(--optimizer adam --lr 0.002)
case "$system" in
ar)
  recipe=(--task translation --arch transformer
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1)
  ;;
stock)
  recipe=(--task translation_lev --noise random_delete --arch levenshtein_transformer
    --criterion nat_loss)
  ;;
levt | distilled)
  # by these weights each head counts as much as it does in fairseq's, where each loss is a mean
  recipe=(--task translation_edit --arch levenshtein_editor --criterion edit_policy_loss
    --label-smoothing 0 --placeholder-weight 2 --token-weight 2
    --beta 0.25 --kept-tokens incomplete --token-masking uniform)
  optimizer=(--optimizer muon --muon-update-rms 0.4 --lr 0.004)
  ;;
*) fail "no system $system: ar, stock, levt or distilled" ;;
esac
if [ "$system" = distilled ]; then
  data="$work/distilled-data"
  [ -d "$data" ] || fail "no distilled data in $work: bash examples/translation/distill.sh $work makes them"
  teacher="${TEACHER:-$work/ar/checkpoint_last.pt}"
  if [ "$teacher" != none ]; then
    [ -f "$teacher" ] || fail "no teacher $teacher: give TEACHER=none, or a checkpoint in TEACHER"
    recipe+=(--finetune-from-model "$teacher")
  fi
fi

sizes=()
for side in encoder decoder; do
  sizes+=("--$side-embed-dim" 128 "--$side-ffn-embed-dim" 512 "--$side-layers" 2
    "--$side-attention-heads" 4 "--$side-normalize-before")
done

length=(--lr-scheduler polynomial_decay --warmup-updates "$((updates / 10 + 1))"
  --total-num-update "$updates" --max-update "$updates")
if [ -n "$minutes" ]; then
  length=(--lr-scheduler time_budget --stop-time-hours "$(awk "BEGIN { print $minutes / 60 }")")
fi

exec fairseq-train "$data" \
  --user-dir "$root/lev_plugins" "${recipe[@]}" "${sizes[@]}" \
  --bpe sentencepiece --sentencepiece-model "$work/spm.model" \
  --share-all-embeddings --dropout 0.1 \
  "${optimizer[@]}" --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
  "${length[@]}" \
  --max-tokens 1800 --seed "$seed" \
  --save-dir "$work/$system" --no-epoch-checkpoints \
  --log-format simple --log-interval 50 "$@"

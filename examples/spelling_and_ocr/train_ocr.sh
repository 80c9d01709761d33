#!/usr/bin/env bash
# Trains a corrector on what prepare_ocr.sh made:
#
#     bash examples/spelling_and_ocr/train_ocr.sh WORK pbd [fairseq-train's flags …]
#     LAYERS=4 SEED=2 RUN=4-layers bash examples/spelling_and_ocr/train_ocr.sh WORK ar --bf16
#     RUN=no-future bash examples/spelling_and_ocr/train_ocr.sh WORK pbd --no-future-modelling
#     MINUTES=40 NOISE=0.5 bash examples/spelling_and_ocr/train_ocr.sh WORK pbd --bf16
#
# levt edits the noisy text; ar is fairseq's own transformer, which writes the clean text from left to
# right; pbd does so with the rest of the noisy text in sight. UPDATES (2400; levt: 3000) or MINUTES is the
# length of the training: the learning rate falls to zero just then. NOISE (0; not for levt) is the share of
# the training lines whose noisy side is made anew in each epoch, from the clean side with the confusions of
# the training text. START names a checkpoint whose parameters the training starts from. LAYERS (2) are the
# blocks of the encoder and of the decoder, SEED is 1. Flags given here come last and win. The checkpoints go to
# WORK/SYSTEM, or with RUN to WORK/SYSTEM-RUN: the last, the one with the lowest loss on the dev set, and of
# ar and pbd the last five of fifteen. A GPU is used where there is one.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -ge 2 ] || fail "a folder and a system are needed: bash examples/spelling_and_ocr/train_ocr.sh WORK levt|ar|pbd [flags …]"
[ -d "$1/data" ] || fail "no data in $1: bash examples/spelling_and_ocr/prepare_ocr.sh DATA $1 makes them"
work="$(cd "$1" && pwd)"
system="$2"
shift 2
case "$system" in
levt) updates="${UPDATES:-3000}" ;;
ar | pbd) updates="${UPDATES:-2400}" ;;
*) fail "no system $system: levt, ar or pbd" ;;
esac
seed="${SEED:-1}" layers="${LAYERS:-2}" run="${RUN:-}" minutes="${MINUTES:-}" noise="${NOISE:-0}" start="${START:-}"
whole UPDATES "$updates" updates
whole LAYERS "$layers" blocks
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"
[ -z "$minutes" ] || whole MINUTES "$minutes" minutes
[[ "$noise" =~ ^(0|1|0?\.[0-9]+|1\.0*|0\.)$ ]] || fail "NOISE=$noise: give a share of the lines, from 0 to 1"
[ -z "$start" ] || [ -f "$start" ] || fail "START=$start: there is no such checkpoint"
[[ "$run" =~ ^[A-Za-z0-9._-]*$ ]] || fail "RUN=$run: give letters, digits and -"

part() { # part N: the N-th part of the updates, 1 at least
  echo "$((updates / $1 > 0 ? updates / $1 : 1))"
}

optimizer=(
  --optimizer muon --muon-update-rms 0.4
)
[[ " $* " != *" --optimizer "* ]] || optimizer=() # the one of "$@", which knows no flags of muon
# what ar and pbd have in common: size, regularisation, learning rate, batches
pair=(
  --task translation --criterion label_smoothed_cross_entropy --label-smoothing 0.1
  --encoder-embed-dim 256 --encoder-ffn-embed-dim 1024 --encoder-attention-heads 4
  --encoder-layers "$layers" --encoder-normalize-before
  --dropout 0.15 --attention-dropout 0.1
  ${optimizer[@]+"${optimizer[@]}"} --lr 0.004
  --max-tokens 3000 --required-batch-size-multiple 1
  --save-interval-updates "$(part 15)" --keep-interval-updates 5
)
rising="$(part 12)" roll_in=(--roll-in-updates "$((updates * 7 / 10))")
[ "$system" != levt ] || rising="$((updates * 8 / 100 + 1))"
length=(
  --lr-scheduler polynomial_decay --warmup-updates "$rising"
  --total-num-update "$updates" --max-update "$updates"
)
if [ -n "$minutes" ]; then
  roll_in=(--roll-in-updates 0.7)
  length=(--lr-scheduler time_budget --stop-time-hours "$(awk "BEGIN { print $minutes / 60 }")")
fi
case "$system" in
levt)
  recipe=(
    --task translation_edit --draft-lang draft
    --alpha-start 0.3 --alpha 0.9 --beta-start 0.3 --beta 0.9 "${roll_in[@]}"
    --arch levenshtein_editor_char --encoder-layers "$layers" --decoder-layers "$layers"
    --criterion edit_policy_loss --label-smoothing 0.1 --dropout 0.1 --optimizer adam --lr 0.003
    --max-tokens 1500 --save-interval-updates "$((updates / 10 + 1))" --keep-interval-updates 1
  )
  ;;
ar)
  recipe=(
    --arch transformer "${pair[@]}"
    --decoder-embed-dim 256 --decoder-ffn-embed-dim 1024 --decoder-attention-heads 4
    --decoder-layers "$layers" --decoder-normalize-before
  )
  ;;
pbd) recipe=(--arch pbd_transformer_char "${pair[@]}") ;;
esac
data="$work/data"
if [ "$noise" != 0 ]; then
  [ "$system" != levt ] || fail "NOISE=$noise: levt learns from the lines as they are; ar or pbd"
  confusions="$work/confusions.json"
  [ -f "$confusions" ] || python -m lev_plugins noise --learn-confusions \
    "$work/text/train.noisy" "$work/text/train.clean" "$confusions"
  # noise is made on text: that of the training pairs; dictionaries and other sets as they are
  data="$work/plain"
  mkdir -p "$data"
  cp "$work"/data/{dict,valid,test}.* "$data"
  for side in noisy clean; do
    sed 's/ //g; s/▁/ /g' "$work/characters/train.$side" >"$data/train.$side"
  done
  recipe+=(
    --task noisy_translation --noise ocr --noise-confusions "$confusions"
    --noise-target-share "$noise" --noise-confusion-scale 2
  )
fi
[ -z "$start" ] || recipe+=(--finetune-from-model "$start")

exec fairseq-train "$data" \
  --user-dir "$root/lev_plugins" --source-lang noisy --target-lang clean --bpe characters \
  "${recipe[@]}" "${length[@]}" \
  --share-all-embeddings --max-source-positions 1024 --max-target-positions 1024 \
  --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --seed "$seed" \
  --save-dir "$work/$system${run:+-$run}" --no-epoch-checkpoints \
  --validate-interval 100000 --save-interval 100000 \
  --log-format simple --log-interval 50 "$@"

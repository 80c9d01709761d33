#!/usr/bin/env bash
# Trains a corrector on what prepare_ocr.sh made:
#
#     bash examples/spelling_and_ocr/train_ocr.sh WORK pbd [fairseq-train's flags …]
#     LAYERS=4 SEED=2 RUN=4-layers bash examples/spelling_and_ocr/train_ocr.sh WORK ar --bf16
#     RUN=no-future bash examples/spelling_and_ocr/train_ocr.sh WORK pbd --no-future-modelling
#
# levt edits the noisy text; ar is fairseq's own transformer, which writes the clean text from left to
# right; pbd does so with the rest of the noisy text in sight. UPDATES (2400; levt: 3000) is the length of
# the training: the learning rate falls to zero just then. LAYERS (2) are the blocks of the encoder and of
# the decoder, SEED is 1. Flags given here come last and win. The checkpoints go to WORK/SYSTEM, or with RUN
# to WORK/SYSTEM-RUN: the last, the one with the lowest loss on the dev set, and of ar and pbd the last five
# of fifteen. A GPU is used where there is one.
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
seed="${SEED:-1}" layers="${LAYERS:-2}" run="${RUN:-}"
whole UPDATES "$updates" updates
whole LAYERS "$layers" blocks
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"
[[ "$run" =~ ^[A-Za-z0-9._-]*$ ]] || fail "RUN=$run: give letters, digits and -"

part() { # part N: the N-th part of the updates, 1 at least
  echo "$((updates / $1 > 0 ? updates / $1 : 1))"
}

# what ar and pbd have in common: size, regularisation, learning rate, batches
pair=(
  --task translation --criterion label_smoothed_cross_entropy
  --encoder-embed-dim 256 --encoder-ffn-embed-dim 1024 --encoder-attention-heads 4
  --encoder-layers "$layers" --encoder-normalize-before
  --dropout 0.2 --attention-dropout 0.1 --lr 0.0015 --warmup-updates "$(part 12)"
  --max-tokens 3000 --required-batch-size-multiple 1
  --save-interval-updates "$(part 15)" --keep-interval-updates 5
)
case "$system" in
levt)
  recipe=(
    --task translation_edit --draft-lang draft
    --alpha-start 0.3 --alpha 0.9 --beta-start 0.3 --beta 0.9 --roll-in-updates "$((updates * 7 / 10))"
    --arch levenshtein_editor_char --encoder-layers "$layers" --decoder-layers "$layers"
    --criterion edit_policy_loss --dropout 0.1 --lr 0.003 --warmup-updates "$((updates * 8 / 100 + 1))"
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

exec fairseq-train "$work/data" \
  --user-dir "$root/lev_plugins" --source-lang noisy --target-lang clean --bpe characters \
  "${recipe[@]}" \
  --share-all-embeddings --label-smoothing 0.1 \
  --max-source-positions 1024 --max-target-positions 1024 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
  --lr-scheduler polynomial_decay --total-num-update "$updates" --max-update "$updates" --seed "$seed" \
  --save-dir "$work/$system${run:+-$run}" --no-epoch-checkpoints \
  --validate-interval 100000 --save-interval 100000 \
  --log-format simple --log-interval 50 "$@"

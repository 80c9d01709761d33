#!/usr/bin/env bash
# Trains a denoiser on what prepare.sh made:
#
#     bash examples/denoising/train.sh WORK GATES [fairseq-train's flags …]
#     bash examples/denoising/train.sh WORK none
#     bash examples/denoising/train.sh WORK mask,copy,generate --bf16
#
# GATES are some of mask, copy, generate, skip; all; or none, which is the plain Transformer. VARIANT is pointer
# (the default) or paper. All else is the same: UPDATES (600), the length of the training, with whose
# last one the learning rate reaches zero; WIDTH (128); LAYERS (2) of encoder and of decoder; LR (0.003); TOKENS
# (1500) an update; SEED (1). Flags given here come last and win. The checkpoints go to WORK/GATES-VARIANT
# (WORK/none), or with RUN to WORK/GATES-VARIANT-RUN; the last one is the one to use.
#
# Data of a BACKBONE (see prepare.sh) are trained at its size, with LR 0.0005 and 600 TOKENS; BACKBONE_START=1
# begins with its weights, which learn at LR times BACKBONE_RATIO (0.1). A GPU is used where there is one.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -ge 2 ] || fail "a folder and gates are needed: bash examples/denoising/train.sh WORK none|all|GATES [flags …]"
[ -f "$1/data/dict.clean.txt" ] || fail "no data in $1: bash examples/denoising/prepare.sh DATA $1 makes them"
work="$(cd "$1" && pwd)"
gates="$2"
shift 2
variant="${VARIANT:-pointer}" updates="${UPDATES:-600}" width="${WIDTH:-128}" layers="${LAYERS:-2}"
seed="${SEED:-1}" run="${RUN:-}" start="${BACKBONE_START:-0}"
name="${gates//,/-}"
case "$variant" in
pointer | paper) ;;
*) fail "VARIANT=$variant: pointer or paper" ;;
esac
[ "$gates" = none ] || name="$name-$variant"
whole UPDATES "$updates" updates
whole WIDTH "$width" units
whole LAYERS "$layers" blocks
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"
[[ "$run" =~ ^[A-Za-z0-9._-]*$ ]] || fail "RUN=$run: give letters, digits and -"
[[ "$start" =~ ^[01]$ ]] || fail "BACKBONE_START=$start: give 0 or 1"

if [ -f "$work/backbone" ]; then
  backbone="$(cat "$work/backbone")"
  recipe=(
    --bpe hf --hf-directory "$backbone" --arch gated_bert_minilm
    --dropout 0.1 --attention-dropout 0 --lr "${LR:-0.0005}" --max-tokens "${TOKENS:-600}"
  )
  if [ "$start" = 1 ]; then
    recipe+=(--backbone "$backbone" --optimizer backbone_adam --backbone-lr-ratio "${BACKBONE_RATIO:-0.1}")
  else
    recipe+=(--optimizer adam)
  fi
else
  [ "$start" = 0 ] || fail "$work has no data of a backbone: BACKBONE=DIR bash examples/denoising/prepare.sh makes them"
  recipe=(
    --bpe characters --arch gated_transformer_char --share-all-embeddings
    --encoder-embed-dim "$width" --encoder-ffn-embed-dim "$((4 * width))" --encoder-attention-heads 4
    --encoder-layers "$layers" --decoder-layers "$layers"
    --dropout 0.1 --attention-dropout 0 --lr "${LR:-0.003}" --max-tokens "${TOKENS:-1500}"
    --optimizer adam
  )
fi

exec fairseq-train "$work/data" \
  --user-dir "$root/lev_plugins" --task noisy_translation --source-lang noisy --target-lang clean \
  --noise "$(cat "$work/noise")" --gates "$gates" --gate-variant "$variant" \
  "${recipe[@]}" \
  --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
  --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --required-batch-size-multiple 1 \
  --lr-scheduler polynomial_decay --warmup-updates "$((updates / 10 + 1))" \
  --total-num-update "$updates" --max-update "$updates" --seed "$seed" \
  --save-dir "$work/$name${run:+-$run}" --no-epoch-checkpoints \
  --validate-interval-updates "$((updates / 4 + 1))" --save-interval-updates "$((updates / 4 + 1))" \
  --keep-interval-updates 1 --validate-interval 100000 --save-interval 100000 \
  --log-format simple --log-interval 50 "$@"

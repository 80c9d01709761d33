#!/usr/bin/env bash
# Trains a denoiser on what prepare.sh made:
#
#     bash examples/denoising/train.sh WORK GATES [fairseq-train's flags …]
#     bash examples/denoising/train.sh WORK mask,copy,generate --bf16
#
# GATES are some of mask, copy, generate, skip; all; or none, which is the plain Transformer. VARIANT is pointer (the
# default) or paper. All else is the same: UPDATES (600), the length of the training, with whose last one the learning
# rate reaches zero, or MINUTES; WIDTH (128); LAYERS (2) of encoder and of decoder; LR (0.003); TOKENS (1500) an
# update; SEED (1). Flags given here override the script's. The checkpoints go to WORK/GATES-VARIANT (WORK/none), or with
# RUN to WORK/GATES-VARIANT-RUN; the last one is the one to use. A GPU is used if there is one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 2 ] || fail "a folder and gates are needed: bash $here WORK none|all|GATES [flags …]"
prepared "$1" data/dict.clean.txt denoising/prepare.sh
gates="$2" variant="${VARIANT:-pointer}" updates="${UPDATES:-600}" width="${WIDTH:-128}" layers="${LAYERS:-2}"
SEED="${SEED:-1}"
shift 2
one_of VARIANT "$variant" pointer paper
name="${gates//,/-}"
[ "$gates" = none ] || name="$name-$variant"
budget "$updates" 'updates / 10 + 1' "${MINUTES:-}"
number width layers SEED

exec fairseq-train "$work/data" --user-dir "$root/lev_plugins" --task noisy_translation \
  --source-lang noisy --target-lang clean --noise all --gates "$gates" --gate-variant "$variant" \
  --bpe characters --arch gated_transformer_char --share-all-embeddings \
  --encoder-embed-dim "$width" --encoder-ffn-embed-dim "$((4 * width))" --encoder-attention-heads 4 \
  --encoder-layers "$layers" --decoder-layers "$layers" --dropout 0.1 --attention-dropout 0 \
  --lr "${LR:-0.003}" --max-tokens "${TOKENS:-1500}" --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
  --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --required-batch-size-multiple 1 "${length[@]}" \
  --seed "$SEED" --save-dir "$work/$name${RUN:+-$RUN}" --no-epoch-checkpoints \
  --validate-interval-updates "$((updates / 4 + 1))" --save-interval-updates "$((updates / 4 + 1))" \
  --keep-interval-updates 1 --validate-interval 100000 --save-interval 100000 \
  --log-format simple --log-interval 50 "$@"

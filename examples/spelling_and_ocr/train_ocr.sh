#!/usr/bin/env bash
# Trains one of two correctors of the same size on what prepare_ocr.sh made:
#
#     bash examples/spelling_and_ocr/train_ocr.sh WORK levt [fairseq-train's flags …]
#     UPDATES=6000 SEED=2 bash examples/spelling_and_ocr/train_ocr.sh WORK ar --dropout 0.2
#
# levt edits the noisy text; ar is fairseq's own transformer, which writes the clean text from left to
# right. UPDATES (3000) is the length of the training: the learning rate falls to zero just then. Flags
# given here come last and win. WORK/levt or WORK/ar gets the checkpoints: the last, and the one with
# the lowest loss on the dev set. A GPU is used where there is one.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"
updates="${UPDATES:-3000}"
seed="${SEED:-1}"

[ $# -ge 2 ] || fail "a folder and a system are needed: bash examples/spelling_and_ocr/train_ocr.sh WORK levt|ar [flags …]"
[ -d "$1/data" ] || fail "no data in $1: bash examples/spelling_and_ocr/prepare_ocr.sh DATA $1 makes them"
work="$(cd "$1" && pwd)"
system="$2"
shift 2
whole UPDATES "$updates" updates
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"

case "$system" in
levt)
  recipe=(
    --task translation_edit --draft-lang draft
    --alpha-start 0.3 --alpha 0.9 --beta-start 0.3 --beta 0.9 --roll-in-updates "$((updates * 7 / 10))"
    --arch levenshtein_editor_char --criterion edit_policy_loss --lr 0.003 --max-tokens 1500
  )
  ;;
ar)
  recipe=(
    --task translation --arch transformer
    --encoder-embed-dim 128 --encoder-ffn-embed-dim 512 --encoder-layers 2 --encoder-attention-heads 4
    --decoder-embed-dim 128 --decoder-ffn-embed-dim 512 --decoder-layers 2 --decoder-attention-heads 4
    --encoder-normalize-before --decoder-normalize-before
    --criterion label_smoothed_cross_entropy --lr 0.002 --max-tokens 3000
    --required-batch-size-multiple 1
  )
  ;;
*) fail "no system $system: levt or ar" ;;
esac

often="$((updates / 10 + 1))" # validation
exec fairseq-train "$work/data" \
  --user-dir "$root/lev_plugins" --source-lang noisy --target-lang clean --bpe characters \
  "${recipe[@]}" \
  --share-all-embeddings --dropout 0.1 --label-smoothing 0.1 \
  --max-source-positions 1024 --max-target-positions 1024 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
  --lr-scheduler polynomial_decay --warmup-updates "$((updates * 8 / 100 + 1))" \
  --total-num-update "$updates" --max-update "$updates" --seed "$seed" \
  --save-dir "$work/$system" --no-epoch-checkpoints --save-interval-updates "$often" \
  --keep-interval-updates 1 --validate-interval 100000 --save-interval 100000 \
  --log-format simple --log-interval 50 "$@"

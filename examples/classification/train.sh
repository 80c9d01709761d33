#!/usr/bin/env bash
# Trains EncT5 on what prepare.sh made:
#
#     bash examples/classification/train.sh WORK [fairseq-train's flags …]
#     DECODER_LAYERS=3 RUN=deep bash examples/classification/train.sh WORK --bf16
#     KIND=multilabel_pooled bash examples/classification/train.sh WORK
#
# KIND is what WORK was prepared for, or multilabel_pooled where that is multilabel. UPDATES (5000;
# multilabel 4000, classification 500) is the length of the training, with whose last one the learning rate
# reaches zero; WIDTH (128); LAYERS (2) of the encoder, DECODER_LAYERS (1); DROPOUT (tagging 0.15, else 0.2);
# LR (tagging 0.004 by Muon, else 0.001 by Adam); TOKENS (2000) an update; PACK (128), the subwords to which
# rows are filled, 0: an example a row; SEED (1). Flags given here come last and win. The checkpoints go to WORK/KIND, or with RUN to WORK/KIND-RUN; the best one by the dev set is the one to
# use. A GPU is used where there is one.
#
# Where WORK was prepared with a T5, its encoder is the start, at its own size, and the recipe is the paper's:
# Adafactor, LR 0.001 all the time, DROPOUT 0.1. With a BERT it is Adam: LR 0.0005 for what is new, a fifth of it
# for the BERT's own weights, UPDATES 700 (multilabel 1500, classification 300), DROPOUT 0.1.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash examples/classification/train.sh WORK [flags …]"
[ -f "$1/kind" ] && [ -d "$1/data" ] ||
  fail "no data in $1: bash examples/classification/prepare.sh KIND DATA $1 makes them"
work="$(cd "$1" && pwd)"
shift
prepared="$(cat "$work/kind")"
optimizer=(--optimizer adam)
kind="${KIND:-$prepared}" dropout=0.2
case "$prepared" in
tagging) updates=5000 dropout=0.15 lr=0.004 metric=word_accuracy optimizer=(--optimizer muon --muon-update-rms 0.2) ;;
multilabel) updates=4000 lr=0.001 metric=micro_f1_tuned ;;
*) updates=500 lr=0.001 metric=mcc ;;
esac
[ "$kind" = "$prepared" ] || [ "$kind-$prepared" = multilabel_pooled-multilabel ] ||
  fail "KIND=$kind: $work was prepared for $prepared"
if [ -f "$work/bert" ]; then
  dropout=0.1 lr=0.0005
  case "$prepared" in tagging) updates=700 ;; multilabel) updates=1500 ;; *) updates=300 ;; esac
fi
updates="${UPDATES:-$updates}" decoder_layers="${DECODER_LAYERS:-1}" tokens="${TOKENS:-2000}"
pack="${PACK:-128}" seed="${SEED:-1}" run="${RUN:-}"
whole UPDATES "$updates" updates
whole DECODER_LAYERS "$decoder_layers" blocks
whole TOKENS "$tokens" subwords
[[ "$pack" =~ ^[0-9]+$ ]] || fail "PACK=$pack: give a number of subwords, 0 for an example a row"
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"
[[ "$run" =~ ^[A-Za-z0-9._-]*$ ]] || fail "RUN=$run: give letters, digits and -"

for name in t5 bert; do
  [ ! -f "$work/$name" ] || [ -z "${WIDTH:-}${LAYERS:-}" ] ||
    fail "WIDTH and LAYERS are those of $(cat "$work/$name"); leave them out"
done
adam=(
  --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr "${LR:-$lr}"
  --lr-scheduler polynomial_decay --warmup-updates "$((updates / 10 + 1))" --total-num-update "$updates"
)
if [ -f "$work/t5" ]; then
  recipe=(
    --arch enct5 --t5-dir "$(cat "$work/t5")" --dropout "${DROPOUT:-0.1}"
    --optimizer adafactor --scale-parameter --lr "${LR:-0.001}" --lr-scheduler fixed
  )
elif [ -f "$work/bert" ]; then
  recipe=(
    --arch enct5 --bert-dir "$(cat "$work/bert")" --dropout "${DROPOUT:-$dropout}"
    --optimizer backbone_adam --backbone-lr-ratio 0.2 "${adam[@]}"
  )
else
  width="${WIDTH:-128}" layers="${LAYERS:-2}"
  whole WIDTH "$width" units
  whole LAYERS "$layers" blocks
  [ "$((width % 4))" = 0 ] || fail "WIDTH=$width: there are 4 attention heads; give a multiple of 4"
  recipe=(
    --arch enct5_tiny --encoder-embed-dim "$width" --encoder-ffn-embed-dim "$((2 * width))"
    --attention-head-dim "$((width / 4))" --encoder-layers "$layers" --dropout "${DROPOUT:-$dropout}"
    "${optimizer[@]}" "${adam[@]}"
  )
fi
[ "$pack" = 0 ] || recipe+=(--pack --pack-length "$pack")

exec fairseq-train "$work/data" \
  --user-dir "$root/lev_plugins" --task enct5 --kind "$kind" --criterion enct5 \
  "${recipe[@]}" --decoder-layers "$decoder_layers" \
  --max-tokens "$tokens" --required-batch-size-multiple 1 --max-update "$updates" --seed "$seed" \
  --save-dir "$work/$kind${run:+-$run}" --no-epoch-checkpoints \
  --best-checkpoint-metric "$metric" --maximize-best-checkpoint-metric \
  --validate-interval-updates "$((updates / 10 + 1))" --save-interval-updates "$((updates / 10 + 1))" \
  --keep-interval-updates 1 --validate-interval 100000 --save-interval 100000 \
  --log-format simple --log-interval 50 "$@"

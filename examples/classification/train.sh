#!/usr/bin/env bash
# Trains EncT5 on what prepare.sh made:
#
#     bash examples/classification/train.sh WORK [fairseq-train's flags …]
#     DECODER_LAYERS=3 RUN=deep bash examples/classification/train.sh WORK --bf16
#     KIND=multilabel_pooled bash examples/classification/train.sh WORK
#
# KIND is what WORK was prepared for, or multilabel_pooled where that is multilabel. UPDATES (5000; multilabel 4000,
# classification 500) or MINUTES is the length of the training; the learning rate reaches zero at its end; WIDTH (128);
# LAYERS (2) of the encoder, DECODER_LAYERS (1); DROPOUT (tagging 0.15, else 0.2); LR (tagging 0.004 by Muon, else 0.001
# by Adam); TOKENS (2000) an update; PACK (128), the subwords to which rows are filled, 0: an example a row; SEED (1).
# Flags given here override the script's. The checkpoints go to WORK/KIND, or with RUN to WORK/KIND-RUN; the best one by the
# dev set is the one to use. A GPU is used if there is one.
#
# Where WORK was prepared with a T5, its encoder is the start, at its own size, and the recipe is the paper's:
# Adafactor, LR 0.001 all the time, DROPOUT 0.1. With a BERT it is Adam: LR 0.0005 for what is new, a fifth of it for
# the BERT's own weights, UPDATES 700 (multilabel 1500, classification 300), DROPOUT 0.1.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [flags …]"
prepared "$1" kind classification/prepare.sh
shift
prepared="$(cat "$work/kind")" optimizer=(--optimizer adam) dropout=0.2 lr=0.001 SEED="${SEED:-1}" PACK="${PACK:-128}"
kind="${KIND:-$prepared}" width="${WIDTH:-128}" layers="${LAYERS:-2}" started=""
case "$prepared" in
tagging) updates=5000 short=700 dropout=0.15 lr=0.004 metric=word_accuracy optimizer=(--optimizer muon --muon-update-rms 0.2) ;;
multilabel) updates=4000 short=1500 metric=micro_f1_tuned ;;
*) updates=500 short=300 metric=mcc ;;
esac
[ "$kind" = "$prepared" ] || [ "$kind-$prepared" = multilabel_pooled-multilabel ] ||
  fail "KIND=$kind: $work was prepared for $prepared"
for name in t5 bert; do [ ! -f "$work/$name" ] || started="$(cat "$work/$name")"; done
[ -z "$started" ] || [ -z "${WIDTH:-}${LAYERS:-}" ] || fail "WIDTH and LAYERS are those of $started; leave them out"
[ ! -f "$work/bert" ] || updates="$short" dropout=0.1 lr=0.0005
updates="${UPDATES:-$updates}"
number width layers SEED PACK
budget "$updates" 'updates / 10 + 1' "${MINUTES:-}"
adam=(--adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr "${LR:-$lr}" "${length[@]}")

if [ -f "$work/t5" ]; then
  [ -z "${MINUTES:-}" ] || fail "MINUTES=$MINUTES: a T5's learning rate does not fall; give UPDATES"
  recipe=(--arch enct5 --t5-dir "$started" --dropout "${DROPOUT:-0.1}" --max-update "$updates"
    --optimizer adafactor --scale-parameter --lr "${LR:-0.001}" --lr-scheduler fixed)
elif [ -f "$work/bert" ]; then
  recipe=(--arch enct5 --bert-dir "$started" --dropout "${DROPOUT:-$dropout}"
    --optimizer backbone_adam --backbone-lr-ratio 0.2 "${adam[@]}")
else
  case " $* " in *" --optimizer "*) optimizer=() ;; esac # another one knows no --muon-update-rms
  [ "$((width % 4))" = 0 ] || fail "WIDTH=$width: there are 4 attention heads; give a multiple of 4"
  recipe=(--arch enct5_tiny --encoder-embed-dim "$width" --encoder-ffn-embed-dim "$((2 * width))"
    --attention-head-dim "$((width / 4))" --encoder-layers "$layers" --dropout "${DROPOUT:-$dropout}"
    ${optimizer[@]+"${optimizer[@]}"} "${adam[@]}")
fi
[ "$PACK" = 0 ] || recipe+=(--pack --pack-length "$PACK")

exec fairseq-train "$work/data" --user-dir "$root/lev_plugins" --task enct5 --kind "$kind" --criterion enct5 \
  "${recipe[@]}" --decoder-layers "${DECODER_LAYERS:-1}" --max-tokens "${TOKENS:-2000}" \
  --required-batch-size-multiple 1 --seed "$SEED" --save-dir "$work/$kind${RUN:+-$RUN}" --no-epoch-checkpoints \
  --best-checkpoint-metric "$metric" --maximize-best-checkpoint-metric \
  --validate-interval-updates "$((updates / 10 + 1))" --save-interval-updates "$((updates / 10 + 1))" \
  --keep-interval-updates 1 --validate-interval 100000 --save-interval 100000 \
  --log-format simple --log-interval 50 "$@"

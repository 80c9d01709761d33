#!/usr/bin/env bash
# Trains a corrector on what prepare_ocr.sh made:
#
#     bash examples/spelling_and_ocr/train_ocr.sh WORK pbd [fairseq-train's flags …]
#     LAYERS=4 SEED=2 RUN=4-layers bash examples/spelling_and_ocr/train_ocr.sh WORK ar --bf16
#     MINUTES=40 NOISE=0.5 bash examples/spelling_and_ocr/train_ocr.sh WORK pbd --bf16
#     WIDTH=64 GATES=none RUN=no-gates bash examples/spelling_and_ocr/train_ocr.sh WORK gated
#
# ar is fairseq's own transformer, which writes the clean text from left to right; pbd also sees the rest of the noisy
# text; gated copies from it, with the gates GATES (mask,copy,generate; none: no gates). UPDATES (2400) or MINUTES is the
# length of the training: the learning rate falls to zero at its end. NOISE (0) is the share of training lines whose
# noisy side is made anew in each epoch from the clean side with the confusions of the training text. LAYERS (2) is the
# number of blocks of encoder and decoder each, WIDTH is 256; SEED is 1. Flags given here come last and win. The
# checkpoints go to WORK/SYSTEM, or with RUN to WORK/SYSTEM-RUN; the last one is the one to use. A GPU is used if there is
# one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 2 ] || fail "a folder and a system are needed: bash $here WORK ar|pbd|gated [flags …]"
prepared "$1" data spelling_and_ocr/prepare_ocr.sh
system="$2" SEED="${SEED:-1}" layers="${LAYERS:-2}" noise="${NOISE:-0}" data="$work/data"
width="${WIDTH:-256}"
shift 2
one_of system "$system" ar pbd gated
updates="${UPDATES:-2400}"
number SEED layers width
[[ "$noise" =~ ^(0|1|0?\.[0-9]+)$ ]] || fail "NOISE=$noise: give a share of the lines, from 0 to 1"
[[ "$noise" =~ [1-9] ]] || noise=0
budget "$updates" 'updates / 12 > 0 ? updates / 12 : 1' "${MINUTES:-}"

optimizer=(--optimizer muon --muon-update-rms 0.4)
[[ " $* " != *" --optimizer "* ]] || optimizer=() # the one of "$@", which knows no flags of muon
pair=(--task translation --criterion label_smoothed_cross_entropy --label-smoothing 0.1
  --encoder-embed-dim "$width" --encoder-ffn-embed-dim "$((4 * width))" --encoder-attention-heads 4
  --encoder-layers "$layers" --encoder-normalize-before --dropout 0.15 --attention-dropout 0.1
  ${optimizer[@]+"${optimizer[@]}"} --lr 0.004
  --max-tokens 3000 --required-batch-size-multiple 1)
case "$system" in
ar) recipe=(--arch transformer "${pair[@]}" --decoder-embed-dim "$width" --decoder-ffn-embed-dim "$((4 * width))"
  --decoder-attention-heads 4 --decoder-layers "$layers" --decoder-normalize-before) ;;
pbd) recipe=(--arch pbd_transformer_char "${pair[@]}") ;;
gated) recipe=(--arch gated_transformer_char "${pair[@]}" --decoder-layers "$layers"
  --gates "${GATES:-mask,copy,generate}") ;;
esac
if [ "$noise" != 0 ]; then
  data="$work/plain" # noise is made on text: that of the training pairs; dictionaries and other sets as they are
  mkdir -p "$data"
  [ -f "$work/confusions.json" ] || lev-noise --learn-confusions "$work/text/train.noisy" "$work/text/train.clean" \
    "$work/confusions.json"
  cp "$work"/data/{dict,valid,test}.* "$data"
  for side in noisy clean; do sed 's/ //g; s/▁/ /g' "$work/characters/train.$side" >"$data/train.$side"; done
  recipe+=(--task noisy_translation --noise ocr --noise-confusions "$work/confusions.json"
    --noise-target-share "$noise" --noise-confusion-scale 2)
fi

exec fairseq-train "$data" --user-dir "$root/lev_plugins" --source-lang noisy --target-lang clean --bpe characters \
  "${recipe[@]}" "${length[@]}" --share-all-embeddings --max-source-positions 1024 --max-target-positions 1024 \
  --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --seed "$SEED" --save-dir "$work/$system${RUN:+-$RUN}" \
  --no-epoch-checkpoints --save-interval-updates "$((updates / 10 + 1))" --keep-interval-updates 1 \
  --validate-interval 100000 --save-interval 100000 --log-format simple --log-interval 50 "$@"

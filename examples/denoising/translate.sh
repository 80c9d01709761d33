#!/usr/bin/env bash
# Trains a translator of noisy text on what examples/translation/prepare.sh made:
#
#     bash examples/denoising/translate.sh WORK clean|noisy|gated [fairseq-train's flags …]
#     UPDATES=3000 SEED=2 RUN=2 bash examples/denoising/translate.sh WORK noisy --bf16
#
# clean      a Transformer, on the text as it is: what one has without this package
# noisy      the same, with noise on the source that is new in every epoch
# gated      the same with the gates mask, copy and generate
#
# All else is the same: UPDATES (1500), with whose last one the learning rate reaches zero, of TOKENS (4000); WIDTH
# (128); LAYERS (2) of encoder and of decoder; SEED (1). Flags given here come last and win. The checkpoints go to
# WORK/translate/SYSTEM, or with RUN to WORK/translate/SYSTEM-RUN. A GPU is used where there is one.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -ge 2 ] || fail "a folder and a system are needed: bash examples/denoising/translate.sh WORK clean|noisy|gated [flags …]"
[ -d "$1/data" ] && [ -f "$1/spm.model" ] ||
  fail "no data and spm.model in $1: bash examples/translation/prepare.sh DATA $1 makes them"
work="$(cd "$1" && pwd)"
system="$2"
shift 2
updates="${UPDATES:-1500}" tokens="${TOKENS:-4000}" width="${WIDTH:-128}" layers="${LAYERS:-2}"
seed="${SEED:-1}" run="${RUN:-}" noise=all gates=none
case "$system" in
clean) noise=none ;;
noisy) ;;
gated) gates=mask,copy,generate ;;
*) fail "no system $system: clean, noisy or gated" ;;
esac
whole UPDATES "$updates" updates
whole TOKENS "$tokens" tokens
whole WIDTH "$width" units
whole LAYERS "$layers" blocks
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"
[[ "$run" =~ ^[A-Za-z0-9._-]*$ ]] || fail "RUN=$run: give letters, digits and -"
languages "$work/data"

data="$work/translate/data" # plain text, so that its noise can be new in every epoch
mkdir -p "$data"
for file in "text/"{train,valid,test}.{"$from","$to"} "data/dict."{"$from","$to"}.txt; do
  ln -sf "../../$file" "$data/"
done
# a copy: a checkpoint's subwords are read without being asked for if they lie beside its data
[ -f "$data/spm.model" ] || cp "$work/spm.model" "$data/"

exec fairseq-train "$data" \
  --user-dir "$root/lev_plugins" --task noisy_translation --source-lang "$from" --target-lang "$to" \
  --noise "$noise" --gates "$gates" --arch gated_transformer \
  --bpe sentencepiece --sentencepiece-model "$data/spm.model" --share-all-embeddings \
  --encoder-embed-dim "$width" --encoder-ffn-embed-dim "$((4 * width))" --encoder-attention-heads 4 \
  --encoder-layers "$layers" --decoder-layers "$layers" \
  --dropout 0.1 --attention-dropout 0 --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
  --optimizer muon --muon-update-rms 0.4 --lr 0.004 --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
  --lr-scheduler polynomial_decay --warmup-updates "$((updates / 10 + 1))" \
  --total-num-update "$updates" --max-update "$updates" --max-tokens "$tokens" --seed "$seed" \
  --save-dir "$work/translate/$system${run:+-$run}" --no-epoch-checkpoints \
  --validate-interval-updates "$((updates / 4 + 1))" --save-interval-updates "$((updates / 4 + 1))" \
  --keep-interval-updates 1 --validate-interval 100000 --save-interval 100000 \
  --log-format simple --log-interval 50 "$@"

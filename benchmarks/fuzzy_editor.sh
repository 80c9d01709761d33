#!/usr/bin/env bash
# Trains the autoregressive peer of a translation memory for as long as lev-memory train takes, and scores it:
#
#     bash benchmarks/fuzzy_editor.sh WORK [MINUTES [SEED]]       # WORK of lev-memory prepare; 60 and 1
#
# Sizes, optimizer, batches and shares of the time are those of lev-memory: 30 % for a Transformer that translates,
# from the same embeddings, and the rest for transformer_concat, which starts from it and reads the repaired draft.
# WORK/concat.txt gets what fairseq-generate prints with a beam of 5. ENCODER_LAYERS=6 DECODER_LAYERS=1: 6 + 1 blocks.
# DROPOUT is 0, as lev-memory chooses up to three passes over the matches.
set -euo pipefail

[ -d "${1:-}/pieces" ] || {
  echo "error: ${1:-WORK} is not a folder of lev-memory prepare; bash benchmarks/fuzzy_editor.sh WORK [MINUTES [SEED]]" >&2
  exit 2
}
source "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
work="$1" minutes="${2:-60}" seed="${3:-1}"

common=(--user-dir "$root/lev_plugins" --source-lang src --target-lang tgt --seed "$seed"
  --max-source-positions 512 --max-target-positions 512 --share-all-embeddings --skip-invalid-size-inputs-valid-test)
for side in encoder decoder; do
  common+=("--$side-embed-dim" 128 "--$side-ffn-embed-dim" 512 "--$side-attention-heads" 4 "--$side-normalize-before")
done
common+=(--encoder-layers "${ENCODER_LAYERS:-2}" --decoder-layers "${DECODER_LAYERS:-2}")
training=("${common[@]}" --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --dropout "${DROPOUT:-0}"
  --optimizer muon --muon-update-rms 0.4 --lr 0.004 --adam-betas "(0.9,0.98)" --clip-norm 1
  --lr-scheduler time_budget --processor-time --max-tokens 2600 --max-tokens-valid 4000 --log-interval 100
  --no-epoch-checkpoints --keep-interval-updates 1 --patience 5)
! grep -q avx512bw /proc/cpuinfo || training+=(--bf16) # as lev-memory train does
hours() { awk "BEGIN { printf \"%.6f\", $1 * $minutes / 60 }"; }

[ -d "$work/data" ] || python -c 'import pathlib, sys, lev_memory.train; lev_memory.train.binarise(pathlib.Path(sys.argv[1]))' "$work"
[ -f "$work/embeddings.128.txt" ] || lev-embeddings "$work/all" "$work/embeddings.128.txt" --dim 128
fairseq-train "$work/all" "${training[@]}" --task translation --arch transformer --stop-time-hours "$(hours 0.3)" \
  --validate-interval-updates 500 --save-interval-updates 500 \
  --encoder-embed-path "$work/embeddings.128.txt" --save-dir "$work/transformer" >"$work/transformer.log" 2>&1
fairseq-train "$work/data" "${training[@]}" --task translation_concat --draft-lang draft --old-source \
  --arch transformer_concat --stop-time-hours "$(hours 0.7)" --validate-interval-updates 500 --save-interval-updates 500 \
  --finetune-from-model "$work/transformer/checkpoint_best.pt" --save-dir "$work/concat" >"$work/concat.log" 2>&1
fairseq-generate "$work/data" --user-dir "$root/lev_plugins" --task translation_concat --draft-lang draft --old-source \
  --source-lang src --target-lang tgt --path "$work/concat/checkpoint_best.pt" --gen-subset test --beam 5 \
  --max-source-positions 512 --max-target-positions 512 --skip-invalid-size-inputs-valid-test --max-tokens 4000 \
  --remove-bpe sentencepiece >"$work/concat.txt" 2>"$work/generate.log"
lev-report "$work/concat.txt" --metrics ter,bleu,accuracy

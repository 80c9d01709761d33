#!/usr/bin/env bash
# Chooses settings on the validation part and scores the test part by similarity, beside no edits, the repair by rule
# and, where it was trained, the autoregressive baseline:
#
#     bash examples/translation_memory/evaluate.sh WORK
set -euo pipefail
unset CDPATH
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

work="${1:-}" more=()
if [ -f "$work/concat/checkpoint_last.pt" ]; then
  fairseq-generate "$work/data" --user-dir "$root/lev_plugins" --task translation_concat --draft-lang draft \
    --source-lang src --target-lang tgt --max-source-positions 512 --max-target-positions 512 --old-source \
    --path "$work/concat/checkpoint_last.pt" --beam 5 --max-tokens 4000 --remove-bpe sentencepiece \
    --skip-invalid-size-inputs-valid-test >"$work/concat.txt" 2>"$work/concat.log" ||
    fail "fairseq-generate failed: see $work/concat.log"
  more=("$work/concat.txt")
fi
exec python "$folder/evaluate.py" "$@" ${more[@]+"${more[@]}"}

#!/usr/bin/env bash
# One table: doing nothing, a look-up table, and what train_ocr.sh trained.
#
#     bash examples/spelling_and_ocr/evaluate_ocr.sh WORK [--thresholds 0.5,0.6,0.7,0.9] [--beam 4] [--max-iter 10]
#
# Checkpoint and deletion threshold are chosen on the dev set, the test set is decoded once. WORK/output
# gets the corrected test text, line n for line n.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

exec python "$root/examples/spelling_and_ocr/evaluate_ocr.py" "$@"

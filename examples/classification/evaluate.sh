#!/usr/bin/env bash
# A table: what needs no training, and what train.sh trained, on the test set.
#
#     bash examples/classification/evaluate.sh WORK [--systems tagging tagging-deep] [--checkpoint last]
#
# Scored is the best checkpoint of each folder in WORK that has one, by python -m lev_plugins predict,
# which gets the text alone. WORK/output keeps what it found, line n for line n, as SYSTEM.jsonl, and all
# numbers in scores.json. A second call predicts only what is new.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

exec python "$root/examples/classification/evaluate.py" "$@"

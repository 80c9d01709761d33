#!/usr/bin/env bash
# Tables: the no-edit baseline and what train.sh trained, on each test set, by beam search.
#
#     bash examples/denoising/evaluate.sh WORK [--systems none all-pointer] [--against none] [--beam 4]
#
# Scored is the last checkpoint of each folder in WORK that has one. WORK/output gets the corrected text, line n for
# line n, as SYSTEM.TEST_SET, and tables.json. A second call decodes only what is new. --against (none) is compared
# with all others by Welch's t-test and the paired one over sentences.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

exec python "$root/examples/denoising/evaluate.py" "$@"

#!/usr/bin/env bash
# One table: the no-edit baseline, a look-up table, and what train_ocr.sh trained, as it decodes and with its n best
# re-ranked by a lexicon and a look-up table.
#
#     bash examples/spelling_and_ocr/evaluate_ocr.sh WORK [--systems ar pbd-no-future] [--dev-only] [--beam 4] [--ensemble pbd pbd-2]
#
# Scored is what there are checkpoints of in WORK. One of the checkpoints, the average of those of certain
# updates (ar, pbd) or a deletion threshold (levt) is chosen on the dev set, the test set is decoded once
# (not at all with --dev-only). WORK/output gets the corrected test text, line n for line n. --help names
# the other options.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

exec python "$root/examples/spelling_and_ocr/evaluate_ocr.py" "$@"

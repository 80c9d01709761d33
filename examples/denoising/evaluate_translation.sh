#!/usr/bin/env bash
# A table: what translate.sh trained, on the clean test set and with noise of four kinds on it, by beam search.
#
#     bash examples/denoising/evaluate_translation.sh WORK [--lexicon FILE] [--corrector CHECKPOINT] [--systems clean noisy]
#
# Scored is the last checkpoint of each folder in WORK/translate that has one, by BLEU. Each system also reads what
# symspellpy with the words of FILE, and what `correct` with CHECKPOINT, makes of the source. WORK/translate/output
# gets the sources (SET.source), the translations (SYSTEM.SET) and scores.json.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

case "${1:-}" in -h | --help) exec python "$root/examples/denoising/evaluate_translation.py" --help ;; esac
[ $# -ge 1 ] || fail "a folder is needed: bash examples/denoising/evaluate_translation.sh WORK [flags …]"
[ -d "$1/translate/data" ] || fail "no data in $1: bash examples/denoising/translate.sh $1 noisy makes them"
languages "$1/data"
exec python "$root/examples/denoising/evaluate_translation.py" --source-lang "$from" --target-lang "$to" "$@"

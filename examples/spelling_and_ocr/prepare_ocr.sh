#!/usr/bin/env bash
# Makes characters for correcting OCR (or any noisy text) from two text files a part:
#
#     bash examples/spelling_and_ocr/prepare_ocr.sh DATA WORK
#     WORDS=3 bash examples/spelling_and_ocr/prepare_ocr.sh DATA WORK
#
# DATA holds {train,dev,test}.{noisy,clean}, plain or .gz: a word or a line of text on each line; a part's
# two files are line-aligned. WORK gets the text, the text as characters (a space is written ▁), the words and
# corrections of the training text, and WORK/data, the binarised data. WORDS (0: whole lines) cuts lines into segments
# of so many words, which are learnt sooner than long lines.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash $here DATA WORK"
data="$1" work="$2" WORDS="${WORDS:-0}"
number WORDS
new_folder "$data" "$work"
require "$data" {train,dev,test}.{noisy,clean}
for file in {train,dev,test}.{noisy,clean}; do unpack "$data/$file" "$work/text/$file"; done
python "$root/examples/spelling_and_ocr/prepare_ocr.py" "$work" "$WORDS"
preprocess --source-lang noisy --target-lang clean --joined-dictionary \
  --trainpref "$work/characters/train" --validpref "$work/characters/dev" --testpref "$work/characters/test" \
  --destdir "$work/data"
echo "prepare: done; next: bash examples/spelling_and_ocr/train_ocr.sh $work pbd"

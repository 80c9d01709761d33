#!/usr/bin/env bash
# Makes data for post-editing from three times three text files:
#
#     bash examples/post_editing/prepare.sh DATA WORK
#
# DATA holds {train,dev,test}.{src,mt,pe}, plain or .gz: the three files of a part are line-aligned. WORK gets
# the text, a sentencepiece model of VOCABULARY (8000) subwords learned from the training text, the text in subwords,
# and WORK/data, the binarised data.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash $here DATA WORK"
data="$1" work="$2" vocabulary="${VOCABULARY:-8000}"
whole VOCABULARY "$vocabulary" subwords
new_folder "$data" "$work"
require "$data" {train,dev,test}.{src,mt,pe}
for file in {train,dev,test}.{src,mt,pe}; do unpack "$data/$file" "$work/text/$file"; done
python "$root/examples/post_editing/pieces.py" "$work" "$vocabulary" train,dev,test src,mt,pe
preprocess --source-lang src --target-lang pe --draft-lang mt --joined-dictionary --trainpref "$work/pieces/train" \
  --validpref "$work/pieces/dev" --testpref "$work/pieces/test" --destdir "$work/data"
echo "prepare: done; next: bash examples/post_editing/train.sh $work"

#!/usr/bin/env bash
# Makes data for translation from two text files a part:
#
#     bash examples/translation/prepare.sh DATA WORK
#     SOURCE=ro TARGET=en VOCABULARY=40000 bash examples/translation/prepare.sh DATA WORK
#
# DATA holds train, valid (or val, dev) and test (or test_2016, test_2016_flickr) with the endings .en and .de, or
# SOURCE and TARGET, plain or .gz: line n of a part's two files are line-aligned. WORK gets the text, a sentencepiece
# model of VOCABULARY (3000) subwords learned from the training text, the text in subwords, and WORK/data, the
# binarised data with one dictionary for both sides: for fairseq's own tasks and for ours.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash $here DATA WORK"
data="$1" work="$2" from="${SOURCE:-en}" to="${TARGET:-de}" vocabulary="${VOCABULARY:-3000}"
whole VOCABULARY "$vocabulary" subwords
new_folder "$data" "$work"

called() { # called NAMES…: the first name that DATA has a file of, or the first of all
  local name
  for name in "$@"; do
    [ ! -f "$data/$name.$from" ] && [ ! -f "$data/$name.$from.gz" ] || { echo "$name" && return; }
  done
  echo "$1"
}
names=("$(called train)" "$(called valid val dev)" "$(called test test_2016 test_2016_flickr)")
require "$data" "${names[@]/%/.$from}" "${names[@]/%/.$to}"
parts=(train valid test)
for i in 0 1 2; do
  for side in "$from" "$to"; do unpack "$data/${names[i]}.$side" "$work/text/${parts[i]}.$side"; done
done
python "$root/examples/post_editing/pieces.py" "$work" "$vocabulary" train,valid,test "$from,$to"
preprocess --source-lang "$from" --target-lang "$to" --joined-dictionary --trainpref "$work/pieces/train" \
  --validpref "$work/pieces/valid" --testpref "$work/pieces/test" --destdir "$work/data"
echo "prepare: done; next: bash examples/translation/train.sh $work ar"

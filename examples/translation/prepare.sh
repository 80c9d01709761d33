#!/usr/bin/env bash
# Makes data for translation from two text files a part:
#
#     bash examples/translation/prepare.sh DATA WORK
#     SOURCE=ro TARGET=en VOCABULARY=40000 bash examples/translation/prepare.sh DATA WORK
#
# DATA holds train, valid (or val) and test (or test_2016, test_2016_flickr) with the endings .en and
# .de, or SOURCE and TARGET, plain or .gz: line n of a part's two files belongs together. WORK gets the
# text, a sentencepiece model of VOCABULARY (3000) subwords learned from the training text, the text in
# subwords, and WORK/data, the binarised data with one dictionary for both sides: for fairseq's own tasks
# and for ours.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"
from="${SOURCE:-en}" to="${TARGET:-de}"
vocabulary="${VOCABULARY:-3000}"

[ $# -eq 2 ] || fail "two folders are needed: bash examples/translation/prepare.sh DATA WORK"
data="$1" work="$2"
[ -d "$data" ] || fail "no folder $data: give the one that holds train.$from, train.$to and so on"
whole VOCABULARY "$vocabulary" subwords
[ ! -e "$work/data" ] || fail "$work/data is there already: delete it or name another folder"

called() { # called NAMES…: the first name that DATA has a file of, or the first of all
  local name
  for name in "$@"; do
    if [ -f "$data/$name.$from" ] || [ -f "$data/$name.$from.gz" ]; then
      echo "$name"
      return
    fi
  done
  echo "$1"
}

parts=(train valid test)
names=("$(called train)" "$(called valid val dev)" "$(called test test_2016 test_2016_flickr)")
missing=()
for name in "${names[@]}"; do
  for side in "$from" "$to"; do
    [ -f "$data/$name.$side" ] || [ -f "$data/$name.$side.gz" ] || missing+=("$name.$side")
  done
done
[ ${#missing[@]} -eq 0 ] || fail "$data lacks ${missing[*]} (plain or .gz)"

mkdir -p "$work/text" "$work/pieces" || fail "cannot make folders in $work: name another one"
for i in 0 1 2; do
  for side in "$from" "$to"; do
    unpack "$data/${names[i]}.$side" "$work/text/${parts[i]}.$side"
  done
done

echo "== learning $vocabulary subwords and cutting the text into them"
python "$root/examples/post_editing/pieces.py" "$work" "$vocabulary" train,valid,test "$from,$to"

echo "== binarising"
python -m lev_plugins preprocess --source-lang "$from" --target-lang "$to" --joined-dictionary \
  --trainpref "$work/pieces/train" --validpref "$work/pieces/valid" --testpref "$work/pieces/test" \
  --destdir "$work/data" | sed '/^next: /d' # the script says what is next
echo "prepare: done; next: bash examples/translation/train.sh $work ar"

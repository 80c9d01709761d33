#!/usr/bin/env bash
# Makes data for post-editing from three times three text files:
#
#     bash examples/post_editing/prepare.sh DATA WORK
#
# DATA holds {train,dev,test}.{src,mt,pe}, plain or .gz: line n of a part's three files belongs
# together. WORK gets the text, a sentencepiece model of VOCABULARY (8000) subwords learned from the
# training text, the text in subwords, and WORK/data, the binarised data.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
vocabulary="${VOCABULARY:-8000}"

[ $# -eq 2 ] || fail "two folders are needed: bash examples/post_editing/prepare.sh DATA WORK"
data="$1" work="$2"
[ -d "$data" ] || fail "no folder $data: give the one that holds train.src, train.mt, train.pe and so on"
whole VOCABULARY "$vocabulary" subwords
[ ! -e "$work/data" ] || fail "$work/data is there already: delete it or name another folder"
triples_there "$data"

mkdir -p "$work/text" "$work/pieces" || fail "cannot make folders in $work: name another one"
for part in train dev test; do
  for side in src mt pe; do
    unpack "$data/$part.$side" "$work/text/$part.$side"
  done
done

echo "== learning $vocabulary subwords and cutting the text into them"
python "$root/examples/post_editing/pieces.py" "$work" "$vocabulary" train,dev,test src,mt,pe

echo "== binarising"
python -m lev_plugins preprocess \
  --source-lang src --target-lang pe --draft-lang mt --joined-dictionary \
  --trainpref "$work/pieces/train" --validpref "$work/pieces/dev" --testpref "$work/pieces/test" \
  --destdir "$work/data" | sed '/^next: /d' # the script says what is next
echo "prepare: done; next: bash examples/post_editing/train.sh $work"

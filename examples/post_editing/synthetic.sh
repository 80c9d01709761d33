#!/usr/bin/env bash
# Adds synthetic triples to real ones: many more sentences, whose drafts are their targets with words dropped,
# repeated, swapped and replaced by lev-noise.
#
#     bash examples/post_editing/synthetic.sh DATA BITEXT OUT
#     SOURCE=en TARGET=de TIMES=10 bash examples/post_editing/synthetic.sh DATA my/corpus OUT
#
# DATA is prepare.sh's. The bitext is BITEXT.en and BITEXT.de (SOURCE, TARGET), plain or .gz. OUT is made for
# prepare.sh too: its training part has the real triples TIMES (10, as in the paper) over, the bitext with synthetic
# drafts, and the real sources and post-edits with synthetic drafts; the other parts are DATA's. SEED (1) is of the drafts.
set -euo pipefail
unset CDPATH
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -eq 3 ] || fail "two folders and a bitext are needed: bash $here DATA BITEXT OUT"
data="$1" bitext="$2" out="$3" from="${SOURCE:-en}" to="${TARGET:-de}" times="${TIMES:-10}" SEED="${SEED:-1}"
whole TIMES "$times" "times that the real triples are taken"
number SEED
new_folder "$data" "$out"
require "$data" {train,dev,test}.{src,mt,pe}
require "$(dirname "$bitext")" "${bitext##*/}.$from" "${bitext##*/}.$to"
[ ! -e "$out/train.src" ] || fail "$out/train.src is there already: delete it or name another folder"

parts="$out/parts"
for side in src mt pe; do
  for part in dev test; do unpack "$data/$part.$side" "$out/$part.$side"; done
  unpack "$data/train.$side" "$parts/real.$side"
done
unpack "$bitext.$from" "$parts/more.src"
unpack "$bitext.$to" "$parts/more.pe"
for side in src pe; do cat "$parts/real.$side" >>"$parts/more.$side"; done
python -m lev_plugins noise --input "$parts/more.pe" --output "$parts/more.mt" \
  --kind drop-words,repeat-words,swap-words,replace-words --word-rate 0.1 --seed "$SEED"
for side in src mt pe; do
  for ((i = 0; i < times; i++)); do cat "$parts/real.$side"; done >"$out/train.$side"
  cat "$parts/more.$side" >>"$out/train.$side"
done
echo "synthetic: done, $(wc -l <"$out/train.src") triples; next: bash examples/post_editing/prepare.sh $out WORK"

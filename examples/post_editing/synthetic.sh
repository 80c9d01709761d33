#!/usr/bin/env bash
# Adds synthetic triples to real ones: many more sentences, whose drafts are their targets with words
# dropped, repeated, swapped and replaced by lev-noise --drafts.
#
#     bash examples/post_editing/synthetic.sh DATA BITEXT OUT
#     SOURCE=en TARGET=de TIMES=10 bash examples/post_editing/synthetic.sh DATA my/corpus OUT
#
# DATA is prepare.sh's: {train,dev,test}.{src,mt,pe}. The bitext is BITEXT.en and BITEXT.de (SOURCE,
# TARGET), plain or .gz. OUT is made for prepare.sh too: its training part has the real triples TIMES
# (10, as in the paper) over, the bitext with synthetic drafts, and the real sources and post-edits with
# synthetic drafts; the other parts are DATA's. SEED (1) is of the drafts.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
from="${SOURCE:-en}" to="${TARGET:-de}" times="${TIMES:-10}" seed="${SEED:-1}"

[ $# -eq 3 ] || fail "two folders and a bitext are needed: bash examples/post_editing/synthetic.sh DATA BITEXT OUT"
data="$1" bitext="$2" out="$3"
[ -d "$data" ] || fail "no folder $data: give the one that holds train.src, train.mt, train.pe and so on"
whole TIMES "$times" "times that the real triples are taken"
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"
triples_there "$data"
for side in "$from" "$to"; do
  [ -f "$bitext.$side" ] || [ -f "$bitext.$side.gz" ] || fail "no bitext $bitext.$side (plain or .gz)"
done
[ ! -e "$out/train.src" ] || fail "$out/train.src is there already: delete it or name another folder"

mkdir -p "$out/parts" || fail "cannot make folders in $out: name another one"
for side in src mt pe; do
  unpack "$data/dev.$side" "$out/dev.$side"
  unpack "$data/test.$side" "$out/test.$side"
  unpack "$data/train.$side" "$out/parts/real.$side"
done
unpack "$bitext.$from" "$out/parts/bitext.src"
unpack "$bitext.$to" "$out/parts/bitext.pe"
cp "$out/parts/real.src" "$out/parts/edited.src"
cp "$out/parts/real.pe" "$out/parts/edited.pe"
for name in bitext edited; do
  python -m lev_plugins noise --drafts --input "$out/parts/$name.pe" --output "$out/parts/$name.mt" \
    --drop 0.04 --repeat 0.01 --swap 0.02 --replace 0.08 --similar 0.3 --seed "$seed"
done

for side in src mt pe; do
  files=()
  for ((i = 0; i < times; i++)); do
    files+=("$out/parts/real.$side")
  done
  cat "${files[@]}" "$out/parts/bitext.$side" "$out/parts/edited.$side" >"$out/train.$side"
done
echo "synthetic: done, $(wc -l <"$out/train.src") triples; next: bash examples/post_editing/prepare.sh $out WORK"

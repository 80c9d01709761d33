#!/usr/bin/env bash
# Makes triples as the paper does (§4.2): a weak system learns to translate from one half of a bitext
# and translates the other half, whose translations are the drafts.
#
#     bash examples/post_editing/weak_system.sh BITEXT OUT [fairseq-train's flags …]
#     UPDATES=5000 bash examples/post_editing/weak_system.sh BITEXT OUT --max-tokens 4000
#
# BITEXT is a folder that examples/translation/prepare.sh has made. The weak system is fairseq's own
# lstm, trained for UPDATES (1000) updates; flags given here come last and win. OUT gets
# {train,dev,test}.{src,mt,pe}, which prepare.sh takes: train is the second half, dev and test are
# translated by a system that has not seen them either.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
updates="${UPDATES:-1000}"
seed="${SEED:-1}"

[ $# -ge 2 ] || fail "two folders are needed: bash examples/post_editing/weak_system.sh BITEXT OUT [flags …]"
[ -d "$1/data" ] || fail "no data in $1: bash examples/translation/prepare.sh DATA $1 makes them"
bitext="$(cd "$1" && pwd)" out="$2"
shift 2
whole UPDATES "$updates" updates
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"
[ ! -e "$out/train.src" ] || fail "$out/train.src is there already: delete it or name another folder"
languages "$bitext/data"

mkdir -p "$out/halves" || fail "cannot make folders in $out: name another one"
half="$(($(wc -l <"$bitext/text/train.$from") / 2))"
for side in "$from" "$to"; do
  head -n "$half" "$bitext/pieces/train.$side" >"$out/halves/first.$side"
  tail -n "+$((half + 1))" "$bitext/pieces/train.$side" >"$out/halves/second.$side"
done

if [ ! -e "$out/halves/data" ]; then
  echo "== binarising: the first half to learn from, the second to translate"
  python -m lev_plugins preprocess --source-lang "$from" --target-lang "$to" --joined-dictionary \
    --srcdict "$bitext/data/dict.$from.txt" --trainpref "$out/halves/first" \
    --validpref "$bitext/pieces/valid" \
    --testpref "$out/halves/second,$bitext/pieces/valid,$bitext/pieces/test" \
    --destdir "$out/halves/data"
fi

echo "== training the weak system"
fairseq-train "$out/halves/data" --user-dir "$root/lev_plugins" --task translation --arch lstm \
  --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --dropout 0.2 \
  --optimizer adam --clip-norm 1.0 --lr 0.001 --max-tokens 2000 --max-update "$updates" \
  --seed "$seed" --save-dir "$out/halves/lstm" --no-epoch-checkpoints \
  --log-format simple --log-interval 50 "$@"

echo "== translating"
translate() { # translate SUBSET PART TEXT
  local printed="$out/halves/$2.txt" log="$out/halves/$2.log"
  fairseq-generate "$out/halves/data" --user-dir "$root/lev_plugins" --task translation \
    --path "$out/halves/lstm/checkpoint_last.pt" --gen-subset "$1" --beam 5 --batch-size 64 \
    --required-batch-size-multiple 1 \
    --bpe sentencepiece --sentencepiece-model "$bitext/spm.model" >"$printed" 2>"$log" ||
    fail "fairseq-generate failed: $(tail -n 1 "$log") ($log)"
  grep "^D-" "$printed" | sed 's/^D-//' | sort -n | cut -f 3- >"$out/$2.mt"
  unpack "$3.$from" "$out/$2.src"
  unpack "$3.$to" "$out/$2.pe"
}
for side in "$from" "$to"; do
  tail -n "+$((half + 1))" "$bitext/text/train.$side" >"$out/halves/text.$side"
done
translate test2 test "$bitext/text/test"
translate test1 dev "$bitext/text/valid"
translate test train "$out/halves/text"
echo "weak_system: done; next: bash examples/post_editing/prepare.sh $out WORK"

#!/usr/bin/env bash
# Makes triples as for the synthetic experiment of Table 3: a weak translator learns from the first half of a bitext and
# translates the second half, which the post-editors learn from, and the test set:
#
#     bash examples/post_editing/synthetic.sh DATA WORK [fairseq-train's flags, of the translator …]
#     bash examples/post_editing/train.sh WORK/edit concat --finetune-from-model WORK/mt/ar/checkpoint_last.pt
#
# DATA is read as by examples/translation/prepare.sh, which knows SOURCE and TARGET (en, de), too. The translator, in
# WORK/mt/ar, is fairseq's transformer of examples/translation; UPDATES (400) and SEED are its own. WORK/edit is for the
# other scripts here; it has the translator's subwords and dictionary, so that an editor may start from its parameters.
# A second call goes on where the first one ended.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 2 ] || fail "two folders are needed: bash $here DATA WORK [flags …]"
data="$1" work="$2" from="${SOURCE:-en}" to="${TARGET:-de}"
shift 2
new_folder "$data" "$work/edit"
if [ ! -d "$work/mt/data" ]; then # all that is to be translated is the translator's test set
  [ -d "$work/all/data" ] || bash "$root/examples/translation/prepare.sh" "$data" "$work/all"
  mkdir -p "$work/halves"
  for side in "$from" "$to"; do
    text="$work/all/text" half=$(($(wc -l <"$work/all/text/train.$to") / 2))
    head -n "$half" "$text/train.$side" >"$work/halves/train.$side"
    cp "$text/valid.$side" "$work/halves"
    tail -n "+$((half + 1))" "$text/train.$side" | cat - "$text"/{valid,test}."$side" >"$work/halves/test.$side"
  done
  bash "$root/examples/translation/prepare.sh" "$work/halves" "$work/mt"
fi
UPDATES="${UPDATES:-400}" bash "$root/examples/translation/train.sh" "$work/mt" ar --disable-validation "$@"
[ -f "$work/mt/drafts.txt" ] || {
  fairseq-generate "$work/mt/data" --user-dir "$root/lev_plugins" --task translation --gen-subset test --batch-size 64 \
    --path "$work/mt/ar/checkpoint_last.pt" --source-lang "$from" --target-lang "$to" --beam 1 --bpe sentencepiece \
    --sentencepiece-model "$work/mt/spm.model" >"$work/mt/drafts.part"
  mv "$work/mt/drafts.part" "$work/mt/drafts.txt"
}

edit="$work/edit" first=1
mkdir -p "$edit"/{text,pieces}
cp "$work/mt/spm.model" "$edit"
for part in train dev test; do
  lines=$(($(wc -l <"$work/all/text/${part/dev/valid}.$to")))
  [ "$part" != train ] || lines=$((lines - lines / 2))
  range="$first,$((first + lines - 1))p" first=$((first + lines))
  for kind in text:D pieces:H; do # fairseq-generate's lines of text and of subwords, longest sentences first
    folder="${kind%:*}"
    sed -n "$range" "$work/mt/$folder/test.$from" >"$edit/$folder/$part.src"
    sed -n "$range" "$work/mt/$folder/test.$to" >"$edit/$folder/$part.pe"
    grep "^${kind#*:}-" "$work/mt/drafts.txt" | sort -t- -k2n | cut -f 3 | sed -n "$range" >"$edit/$folder/$part.mt"
  done
done
preprocess --source-lang src --target-lang pe --draft-lang mt --joined-dictionary --srcdict "$work/mt/data/dict.$from.txt" \
  --trainpref "$edit/pieces/train" --validpref "$edit/pieces/dev" --testpref "$edit/pieces/test" --destdir "$edit/data"
echo "synthetic: done; next: bash examples/post_editing/train.sh $edit"

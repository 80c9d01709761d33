#!/usr/bin/env bash
# Makes characters for correcting OCR (or any noisy text) from two text files a part:
#
#     bash examples/spelling_and_ocr/prepare_ocr.sh DATA WORK
#     WORDS=3 bash examples/spelling_and_ocr/prepare_ocr.sh DATA WORK
#     WORDS=3 LEXICON=words.txt bash examples/spelling_and_ocr/prepare_ocr.sh DATA WORK
#
# DATA holds {train,dev,test}.{noisy,clean}, plain or .gz: a word or a line of text on each line, line n
# of a part's two files belongs together. WORK gets the text, the text as characters (a space is
# written ▁), with the noisy text once more as the draft, and WORK/data, the binarised data. WORDS (0: whole
# lines) cuts lines into segments of so many words, which are learnt sooner than long lines. LEXICON is a
# list of words of the language, one a line, each with its count behind it or without, for training text of few
# pages: MADE_UP (40000) segments with words of the list are made, are read wrongly as the training text was
# (confusions.json), and are learnt from too; evaluate_ocr.sh then ranks by the words of list and training text.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash examples/spelling_and_ocr/prepare_ocr.sh DATA WORK"
data="$1" work="$2" words="${WORDS:-0}" lexicon="${LEXICON:-}" lines="${MADE_UP:-40000}"
[ -d "$data" ] || fail "no folder $data: give the one that holds train.noisy, train.clean and so on"
[ ! -e "$work/data" ] || fail "$work/data is there already: delete it or name another folder"
[[ "$words" =~ ^[0-9]+$ ]] || fail "WORDS=$words: give a number of words, 0 for whole lines"
[ -z "$lexicon" ] || [ -f "$lexicon" ] || fail "LEXICON=$lexicon: there is no such file"
whole MADE_UP "$lines" lines

missing=()
for part in train dev test; do
  for side in noisy clean; do
    [ -f "$data/$part.$side" ] || [ -f "$data/$part.$side.gz" ] || missing+=("$part.$side")
  done
done
[ ${#missing[@]} -eq 0 ] || fail "$data lacks ${missing[*]} (plain or .gz)"

mkdir -p "$work/text" "$work/characters" || fail "cannot make folders in $work: name another one"
for part in train dev test; do
  for side in noisy clean; do
    unpack "$data/$part.$side" "$work/text/$part.$side"
  done
done

made_up=()
if [ -z "$lexicon" ]; then # of an earlier call: evaluate_ocr.sh would rank by them
  rm -f "$work"/lexicon.txt "$work"/made_up.{clean,noisy} "$work/confusions.json"
else
  python -m lev_plugins noise --learn-confusions "$work/text/train.noisy" "$work/text/train.clean" "$work/confusions.json"
  python "$root/examples/spelling_and_ocr/ocr_words.py" "$work/text" "$lexicon" "$work" \
    --lines "$lines" --words "$((words ? words : 3))"
  python -m lev_plugins noise --kind ocr --confusions "$work/confusions.json" --confusion-scale 1.5 \
    --input "$work/made_up.clean" --output "$work/made_up.noisy"
  made_up=(--made-up "$work/made_up.noisy" "$work/made_up.clean")
fi
python "$root/examples/spelling_and_ocr/ocr_characters.py" "$work/text" "$work/characters" "$words" \
  ${made_up[@]+"${made_up[@]}"}
printf '%s\n' "$words" >"$work/words"
python -m lev_plugins preprocess \
  --source-lang noisy --target-lang clean --draft-lang draft --joined-dictionary \
  --trainpref "$work/characters/train" --validpref "$work/characters/dev" \
  --testpref "$work/characters/test" --destdir "$work/data" | sed '/^next: /d' # the script says what is next
echo "prepare: done; next: bash examples/spelling_and_ocr/train_ocr.sh $work pbd"

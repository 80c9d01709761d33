#!/usr/bin/env bash
# Makes the data of a denoiser, from clean text alone or from real noisy pairs:
#
#     bash examples/denoising/prepare.sh DATA WORK
#     CLEAN=tok WORDS=3 TEST_LINES=500 bash examples/denoising/prepare.sh UD_EWT WORK
#     LOWER=1 BACKBONE=DIR WORDS=8 bash examples/denoising/prepare.sh DATA WORK
#
# DATA holds {train,dev,test}.clean, plain or .gz, one sentence a line; CLEAN (clean) is another name for the
# ending. Where {train,dev,test}.noisy stand beside them, these are the sources, as they are; else noise is put
# on while training, and WORK/data gets a fixed noisy test set for each of random, keyboard, swap and delete.
# WORDS (0: whole lines) cuts clean text into pieces of so many words, which are learnt sooner; TEST_LINES
# (0: all) takes so many pieces of the test set, VALID_LINES (0: all) of the dev set, evenly spread. LOWER=1
# writes small letters only. Tokens are characters, or with BACKBONE those of a Hugging Face folder of BERT,
# as far as they occur.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash examples/denoising/prepare.sh DATA WORK"
data="$1" work="$2" clean="${CLEAN:-clean}" backbone="${BACKBONE:-}"
words="${WORDS:-0}" test_lines="${TEST_LINES:-0}" valid_lines="${VALID_LINES:-0}" lower="${LOWER:-0}"
[ -d "$data" ] || fail "no folder $data: give the one that holds train.$clean and so on"
[ ! -e "$work/data" ] || fail "$work/data is there already: delete it or name another folder"
[[ "$words" =~ ^[0-9]+$ ]] || fail "WORDS=$words: give a number of words, 0 for whole lines"
[[ "$test_lines" =~ ^[0-9]+$ ]] || fail "TEST_LINES=$test_lines: give a number of lines, 0 for all"
[[ "$valid_lines" =~ ^[0-9]+$ ]] || fail "VALID_LINES=$valid_lines: give a number of lines, 0 for all"
[[ "$lower" =~ ^[01]$ ]] || fail "LOWER=$lower: give 0 or 1"
[ -z "$backbone" ] || [ -d "$backbone" ] || fail "no folder $backbone: give one with config.json and weights"

missing=() noisy=0
for part in train dev test; do
  [ -f "$data/$part.$clean" ] || [ -f "$data/$part.$clean.gz" ] || missing+=("$part.$clean")
  [ ! -f "$data/$part.noisy" ] && [ ! -f "$data/$part.noisy.gz" ] || noisy=$((noisy + 1))
done
[ ${#missing[@]} -eq 0 ] || fail "$data lacks ${missing[*]} (plain or .gz)"
[ "$noisy" -eq 0 ] || [ "$noisy" -eq 3 ] || fail "$data: .noisy is there for $noisy of train, dev, test: all or none"
[ "$noisy" -eq 0 ] || [ "$words$test_lines$valid_lines$lower" = 0000 ] ||
  fail "real noisy pairs stay as they are: leave WORDS, TEST_LINES, VALID_LINES and LOWER out"

mkdir -p "$work/text" || fail "cannot make folders in $work: name another one"
work="$(cd "$work" && pwd)"
building="$work/data.part"
rm -rf "$building"
mkdir "$building"

pieces() { # pieces PART SPLIT LINES: the clean text of a part
  local flags=(--words "$words" --lines "$3")
  [ "$lower" = 0 ] || flags+=(--lower-case)
  unpack "$data/$1.$clean" "$work/text/$1.clean"
  python "$root/examples/denoising/prepare.py" pieces "$work/text/$1.clean" "$building/$2.clean" "${flags[@]}"
}

if [ "$noisy" -eq 3 ]; then
  for part in train dev test; do
    split="${part/dev/valid}"
    unpack "$data/$part.$clean" "$building/$split.clean"
    unpack "$data/$part.noisy" "$building/$split.noisy"
  done
  cp "$building/train.noisy" "$work/text/seen"
else
  pieces train train 0
  pieces dev valid "$valid_lines"
  pieces test test "$test_lines"
  : >"$work/text/seen"
  for seed in 1 2 3; do
    python -m lev_plugins.cli.noise --kind all --seed "$seed" --input "$building/train.clean" 2>/dev/null >>"$work/text/seen"
  done
  for kind in random keyboard swap delete; do
    cp "$building/test.clean" "$building/test-$kind.clean"
    echo "prepare: test-$kind" >&2
    python -m lev_plugins.cli.noise --kind "$kind" --seed 1 \
      --input "$building/test.clean" --output "$building/test-$kind.noisy"
  done
  rm "$building/test.clean"
fi

# one dictionary for both sides: what clean and noisy text hold, and a mask symbol for the skip gate
if [ -n "$backbone" ]; then
  cat "$building/train.clean" "$work/text/seen" >"$work/text/all"
  python -m lev_plugins.cli.backbone "$backbone" --input "$work/text/all" --output "$work/text/tokens.noisy"
else
  python "$root/examples/denoising/prepare.py" characters "$building/train.clean" "$work/text/seen" \
    >"$work/text/tokens.noisy"
fi
fairseq-preprocess --only-source --dict-only --source-lang noisy --target-lang clean \
  --trainpref "$work/text/tokens" --destdir "$work/text/dictionary"
mask='<mask>'
[ -z "$backbone" ] || mask='[MASK]'
cp "$work/text/dictionary/dict.noisy.txt" "$building/dict.noisy.txt"
printf '%s 1\n' "$mask" >>"$building/dict.noisy.txt"
cp "$building/dict.noisy.txt" "$building/dict.clean.txt"
if [ "$noisy" -eq 3 ]; then echo none; else echo all; fi >"$work/noise"
if [ -n "$backbone" ]; then (cd "$backbone" && pwd) >"$work/backbone"; else rm -f "$work/backbone"; fi
mv "$building" "$work/data"
echo "prepare: done; next: bash examples/denoising/train.sh $work none"

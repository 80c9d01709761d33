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
# WORDS (0: whole lines) cuts clean text into segments of so many words, which are learnt sooner; TEST_LINES
# (0: all) takes so many segments of the test set, VALID_LINES (0: all) of the dev set, evenly spread. ELSEWHERE
# names clean text of another source (plain or .gz), of which further test sets are made in the same way. LOWER=1
# writes small letters only. Tokens are characters, or with BACKBONE those of a Hugging Face folder of BERT,
# as far as they occur.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash examples/denoising/prepare.sh DATA WORK"
data="$1" work="$2" clean="${CLEAN:-clean}" backbone="${BACKBONE:-}"
words="${WORDS:-0}" test_lines="${TEST_LINES:-0}" valid_lines="${VALID_LINES:-0}" lower="${LOWER:-0}"
elsewhere="${ELSEWHERE:-}"
[ -d "$data" ] || fail "no folder $data: give the one that holds train.$clean and so on"
[ ! -e "$work/data" ] || fail "$work/data is there already: delete it or name another folder"
[[ "$words" =~ ^[0-9]+$ ]] || fail "WORDS=$words: give a number of words, 0 for whole lines"
[[ "$test_lines" =~ ^[0-9]+$ ]] || fail "TEST_LINES=$test_lines: give a number of lines, 0 for all"
[[ "$valid_lines" =~ ^[0-9]+$ ]] || fail "VALID_LINES=$valid_lines: give a number of lines, 0 for all"
[[ "$lower" =~ ^[01]$ ]] || fail "LOWER=$lower: give 0 or 1"
[ -z "$elsewhere" ] || [ -f "$elsewhere" ] || fail "ELSEWHERE=$elsewhere: no such file; give one of clean text"
[ -z "$backbone" ] || [ -d "$backbone" ] || fail "no folder $backbone: give one with config.json and weights"

missing=() noisy=0
for part in train dev test; do
  [ -f "$data/$part.$clean" ] || [ -f "$data/$part.$clean.gz" ] || missing+=("$part.$clean")
  [ ! -f "$data/$part.noisy" ] && [ ! -f "$data/$part.noisy.gz" ] || noisy=$((noisy + 1))
done
[ ${#missing[@]} -eq 0 ] || fail "$data lacks ${missing[*]} (plain or .gz)"
[ "$noisy" -eq 0 ] || [ "$noisy" -eq 3 ] || fail "$data: .noisy is there for $noisy of train, dev, test: all or none"
[ "$noisy" -eq 0 ] || [ "$words$test_lines$valid_lines$lower$elsewhere" = 0000 ] ||
  fail "real noisy pairs stay as they are: leave WORDS, TEST_LINES, VALID_LINES, LOWER and ELSEWHERE out"

mkdir -p "$work/text" || fail "cannot make folders in $work: name another one"
work="$(cd "$work" && pwd)"
building="$work/data.part"
rm -rf "$building" "$work/text/"*
mkdir "$building"
for part in train dev test; do
  unpack "$data/$part.$clean" "$work/text/$part.clean"
  [ "$noisy" -eq 0 ] || unpack "$data/$part.noisy" "$work/text/$part.noisy"
done
[ -z "$elsewhere" ] || unpack "$elsewhere" "$work/text/elsewhere.clean"

flags=(--words "$words" --test-lines "$test_lines" --valid-lines "$valid_lines")
[ "$lower" = 0 ] || flags+=(--lower)
[ -z "$backbone" ] || flags+=(--backbone "$backbone")
python "$root/examples/denoising/prepare.py" "$work/text" "$building" "${flags[@]}"
if [ "$noisy" -eq 3 ]; then echo none; else echo all; fi >"$work/noise"
if [ -n "$backbone" ]; then (cd "$backbone" && pwd) >"$work/backbone"; else rm -f "$work/backbone"; fi
mv "$building" "$work/data"
echo "prepare: done; next: bash examples/denoising/train.sh $work none"

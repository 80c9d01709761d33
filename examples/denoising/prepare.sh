#!/usr/bin/env bash
# Makes the data of a denoiser, from clean text alone:
#
#     bash examples/denoising/prepare.sh DATA WORK
#     CLEAN=tok WORDS=3 TEST_LINES=500 bash examples/denoising/prepare.sh UD_EWT WORK
#
# DATA holds {train,dev,test}.clean, plain or .gz, one sentence a line; CLEAN (clean) is another name for the ending.
# Noise is added during training, and WORK/data gets a fixed noisy test set for each of random, keyboard, swap and
# delete. WORDS (0: whole lines) splits text into segments of this many words, which are learnt faster; TEST_LINES and
# VALID_LINES (0: all) take so many segments of the test and the dev set, evenly spread. ELSEWHERE names clean text of
# another source, of which further test sets are made in the same way. Tokens are characters.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash $here DATA WORK"
data="$1" work="$2" clean="${CLEAN:-clean}" elsewhere="${ELSEWHERE:-}"
WORDS="${WORDS:-0}" TEST_LINES="${TEST_LINES:-0}" VALID_LINES="${VALID_LINES:-0}"
number WORDS TEST_LINES VALID_LINES
new_folder "$data" "$work"
require "$data" {train,dev,test}."$clean"
[ -z "$elsewhere" ] || require "$(dirname "$elsewhere")" "$(basename "$elsewhere" .gz)"
for part in train dev test; do unpack "$data/$part.$clean" "$work/text/$part.clean"; done
[ -z "$elsewhere" ] || unpack "${elsewhere%.gz}" "$work/text/elsewhere.clean"
rm -rf "$work/data.part"
mkdir "$work/data.part"
python "$root/examples/denoising/prepare.py" "$work/text" "$work/data.part" --words "$WORDS" \
  --test-lines "$TEST_LINES" --valid-lines "$VALID_LINES"
mv "$work/data.part" "$work/data"
echo "prepare: done; next: bash examples/denoising/train.sh $work none"

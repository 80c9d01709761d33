#!/usr/bin/env bash
# Makes prepare.sh's DATA of Multi30k's English captions, with spaces around marks, as treebanks have them:
#
#     bash examples/denoising/captions.sh MULTI30K DATA
#
# MULTI30K holds {train,valid,test_2016}.en, plain or .gz (https://github.com/multi30k/dataset).
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash examples/denoising/captions.sh MULTI30K DATA"
for part in train valid test_2016; do
  [ -f "$1/$part.en" ] || [ -f "$1/$part.en.gz" ] || fail "$1 lacks $part.en (plain or .gz)"
done
mkdir -p "$2" || fail "cannot make the folder $2: name another one"
for part in train:train valid:dev test_2016:test; do
  unpack "$1/${part%:*}.en" "$2/captions.part"
  sed -E 's/([.,!?;:"()])/ \1 /g; s/ +/ /g; s/^ //; s/ $//' "$2/captions.part" >"$2/${part#*:}.clean"
done
rm "$2/captions.part"

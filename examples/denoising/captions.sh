#!/usr/bin/env bash
# Makes prepare.sh's DATA of Multi30k's English captions, with spaces around marks, as treebanks have them:
#
#     bash examples/denoising/captions.sh MULTI30K DATA
#
# MULTI30K holds {train,valid,test_2016}.en, plain or .gz (https://github.com/multi30k/dataset).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -eq 2 ] || fail "two folders are needed: bash $here MULTI30K DATA"
require "$1" {train,valid,test_2016}.en
for part in train:train valid:dev test_2016:test; do
  unpack "$1/${part%:*}.en" "$2/${part#*:}.raw"
  sed -E 's/([.,!?;:"()])/ \1 /g; s/ +/ /g; s/^ //; s/ $//' "$2/${part#*:}.raw" >"$2/${part#*:}.clean"
  rm "$2/${part#*:}.raw"
done

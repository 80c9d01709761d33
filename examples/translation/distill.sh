#!/usr/bin/env bash
# Makes the second expert (§3.2): the teacher of train.sh … ar translates the training sources.
#
#     bash examples/translation/distill.sh WORK [--interpolate] [fairseq-generate's flags …]
#     TEACHER=teacher.pt SHARDS=8 bash examples/translation/distill.sh WORK --beam 4 --lenpen 0.6
#
# TEACHER (default: the best of train.sh … ar). SHARDS (1) processes decode a share each, on a GPU each where there are
# several; after a kill the same command decodes what is left.
# WORK/distilled-text gets what fairseq-generate printed and the bitext (distilled.py: line-aligned),
# WORK/distilled-data the same binarised, with the real validation and test sets and the dictionary of WORK/data.
# --interpolate takes the translation of each beam that is nearest to the reference. The default beam size is 5.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [flags …]"
prepared "$1" data translation/prepare.sh
shift
teacher="${TEACHER:-$(best "$work/ar" || echo "$work/ar")}" shards="${SHARDS:-1}"
whole SHARDS "$shards" processes
[ -f "$teacher" ] || fail "no teacher $teacher: bash examples/translation/train.sh $work ar makes one"
[ ! -e "$work/distilled-data" ] ||
  fail "$work/distilled-data already exists: delete it and $work/distilled-text, or name another folder"
languages "$work/data"

beam=5 nbest=1 longest=200 choose=() flags=()
while [ $# -gt 0 ]; do
  case "$1" in
  --interpolate) choose=(--interpolate) ;;
  --beam) beam="${2:-}" && shift ;;
  --max-len-b) longest="${2:-}" && shift ;;
  *) flags+=("$1") ;;
  esac
  shift
done
whole --beam "$beam" hypotheses
whole --max-len-b "$longest" tokens
[ ${#choose[@]} -eq 0 ] || nbest="$beam"

text="$work/distilled-text" printed="$work/distilled-text/generate.train.txt"
mkdir -p "$text"
IFS=, read -ra devices <<<"${CUDA_VISIBLE_DEVICES:-$(seq -s, 0 "$((shards - 1))")}"
decode() { # decode SHARD: <unk> is no text to learn from; lines that the teacher cannot read are left out
  local out="$text/shard-$1-of-$shards.txt"
  [ ! -f "$out" ] || return 0
  CUDA_VISIBLE_DEVICES="${devices[$1 % ${#devices[@]}]}" \
    fairseq-generate "$work/data" --user-dir "$root/lev_plugins" --task translation --path "$teacher" \
    --source-lang "$from" --target-lang "$to" --gen-subset train --max-tokens 4000 --unkpen inf \
    --skip-invalid-size-inputs-valid-test --num-shards "$shards" --shard-id "$1" \
    --beam "$beam" --nbest "$nbest" --max-len-b "$longest" ${flags[@]+"${flags[@]}"} >"$out.part"
  mv "$out.part" "$out"
}
if [ ! -f "$printed" ]; then
  running=() outputs=()
  for ((shard = 0; shard < shards; shard++)); do
    decode "$shard" &
    running+=("$!") outputs+=("$text/shard-$shard-of-$shards.txt")
  done
  for process in "${running[@]}"; do wait "$process" || fail "a shard was not decoded: the same command goes on"; done
  cat "${outputs[@]}" >"$printed.part"
  mv "$printed.part" "$printed"
  rm "${outputs[@]}"
fi
cp "$work/pieces/train.$from" "$text/train.$from"
python "$root/examples/translation/distilled.py" "$printed" "$work/pieces/train.$from" "$work/pieces/train.$to" \
  "$text/train.$to" --longest "$longest" ${choose[@]+"${choose[@]}"}
preprocess --source-lang "$from" --target-lang "$to" --joined-dictionary --srcdict "$work/data/dict.$from.txt" \
  --trainpref "$text/train" --validpref "$work/pieces/valid" --testpref "$work/pieces/test" --destdir "$work/distilled-data"
echo "distill: done; next: bash examples/translation/train.sh $work distilled"

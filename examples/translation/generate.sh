#!/usr/bin/env bash
# Translates the test set with every system that train.sh has made and sets them side by side:
#
#     bash examples/translation/generate.sh WORK [fairseq-generate's flags …]
#     SYSTEMS="levt distilled" bash examples/translation/generate.sh WORK --iter-decode-eos-penalty 1
#
# SYSTEMS (those of ar, stock, levt, distilled that are there) may name further folders of WORK, such as
# those of grid.sh; they are taken for ours. ar is decoded greedily and with beam 4, the others in at most
# ten iterations. WORK/generate.NAME.txt and .log get what fairseq-generate prints, WORK/report.json
# what the table says. LATENCY=100 also times that many sentences, one by one.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash examples/translation/generate.sh WORK [flags …]"
[ -d "$1/data" ] || fail "no data in $1: bash examples/translation/prepare.sh DATA $1 makes them"
work="$(cd "$1" && pwd)"
shift
[ -z "${LATENCY:-}" ] || whole LATENCY "$LATENCY" sentences
languages "$work/data"

systems=()
for system in ${SYSTEMS:-ar stock levt distilled}; do
  if [ -f "$work/$system/checkpoint_last.pt" ]; then
    systems+=("$system")
  elif [ -n "${SYSTEMS:-}" ]; then
    fail "no $work/$system/checkpoint_last.pt: bash examples/translation/train.sh $work $system makes it"
  fi
done
[ ${#systems[@]} -gt 0 ] || fail "no checkpoint in $work: bash examples/translation/train.sh $work ar makes one"

outputs=() names=()
generate() { # generate NAME SYSTEM FLAGS…
  local out="$work/generate.$1.txt" log="$work/generate.$1.log"
  local checkpoint="$work/$2/checkpoint_last.pt"
  echo "== $1"
  names+=("$1")
  outputs+=("$out")
  shift 2
  fairseq-generate "$work/data" --user-dir "$root/lev_plugins" --path "$checkpoint" \
    --source-lang "$from" --target-lang "$to" --gen-subset test --batch-size 64 \
    --required-batch-size-multiple 1 --scoring sacrebleu \
    --bpe sentencepiece --sentencepiece-model "$work/spm.model" "$@" >"$out" 2>"$log" ||
    fail "fairseq-generate failed: $(tail -n 1 "$log") ($log)"
}

edited=() ar=()
for system in "${systems[@]}"; do
  case "$system" in
  ar)
    generate ar-greedy ar --task translation --beam 1 "$@"
    generate ar-beam-4 ar --task translation --beam 4 "$@"
    ar=(--ar-path "$work/ar/checkpoint_last.pt")
    ;;
  stock) # one iteration more than asked for is what it carries out
    generate stock stock --task translation_lev --iter-decode-max-iter 9 --print-step "$@"
    edited+=(--path "$work/stock/checkpoint_last.pt")
    ;;
  *)
    generate "$system" "$system" --task translation_edit --iter-decode-max-iter 10 --print-step "$@"
    edited+=(--path "$work/$system/checkpoint_last.pt")
    ;;
  esac
done

echo "== scores"
python -m lev_plugins report "${outputs[@]}" --names "$(IFS=, && echo "${names[*]}")" \
  --references "$work/text/test.$to" --metrics bleu,chrf,ter_normalized \
  --json "$work/report.json"

if [ -n "${LATENCY:-}" ]; then
  echo "== latency"
  [ ${#edited[@]} -gt 0 ] || fail "LATENCY=$LATENCY: no edit model is there to be timed"
  python "$root/examples/analysis/latency.py" "$work/data" "${edited[@]}" ${ar[@]+"${ar[@]}"} \
    --source-lang "$from" --target-lang "$to" --sentences "$LATENCY"
fi

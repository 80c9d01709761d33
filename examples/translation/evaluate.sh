#!/usr/bin/env bash
# Translates the test set with all systems of train.sh and compares them:
#
#     bash examples/translation/evaluate.sh WORK [fairseq-generate's flags …]
#     SYSTEMS="levt distilled" bash examples/translation/evaluate.sh WORK --iter-decode-eos-penalty 1
#
# SYSTEMS (default: those of ar, stock, levt, distilled that exist) may name further folders of WORK, which count as
# ours unless they begin with stock. The best checkpoint of each is taken, the last where none was validated. ar is decoded
# greedily and with beam 4, the others in at most ten iterations. WORK/generate.NAME.txt and .log get what fairseq-generate
# prints, WORK/report.json the table's numbers; BLEU is sacreBLEU. LATENCY=100 also times that many sentences, one by one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [flags …]"
prepared "$1" data translation/prepare.sh
shift
[ -z "${LATENCY:-}" ] || whole LATENCY "$LATENCY" sentences
languages "$work/data"

systems=() outputs=() names=() edited=() ar=()
for system in ${SYSTEMS:-ar stock levt distilled}; do
  if best "$work/$system" >/dev/null; then
    systems+=("$system")
  elif [ -n "${SYSTEMS:-}" ]; then
    fail "no checkpoint in $work/$system: bash examples/translation/train.sh $work $system makes it"
  fi
done
[ ${#systems[@]} -gt 0 ] || fail "no checkpoint in $work: bash examples/translation/train.sh $work ar makes one"

generate() { # generate NAME SYSTEM FLAGS…
  local name="$1" checkpoint
  checkpoint="$(best "$work/$2")"
  shift 2
  echo "== $name"
  names+=("$name") outputs+=("$work/generate.$name.txt")
  fairseq-generate "$work/data" --user-dir "$root/lev_plugins" --path "$checkpoint" \
    --source-lang "$from" --target-lang "$to" --gen-subset test --batch-size 64 \
    --required-batch-size-multiple 1 --bpe sentencepiece --sentencepiece-model "$work/spm.model" "$@" \
    >"$work/generate.$name.txt" 2>"$work/generate.$name.log" ||
    fail "fairseq-generate failed: $(tail -n 1 "$work/generate.$name.log") ($work/generate.$name.log)"
}

for system in "${systems[@]}"; do
  checkpoint="$(best "$work/$system")"
  case "$system" in
  ar)
    generate ar-greedy ar --task translation --beam 1 "$@"
    generate ar-beam-4 ar --task translation --beam 4 "$@"
    ar=(--ar-path "$checkpoint")
    ;;
  *) # stock's task carries out one iteration more than asked for
    decoding=(--task translation_edit --iter-decode-max-iter 10)
    [[ "$system" != stock* ]] || decoding=(--task translation_lev --iter-decode-max-iter 9)
    generate "$system" "$system" "${decoding[@]}" --print-step "$@"
    edited+=(--path "$checkpoint")
    ;;
  esac
done
python -m lev_plugins report "${outputs[@]}" --names "$(IFS=, && echo "${names[*]}")" \
  --references "$work/text/test.$to" --metrics bleu,chrf,ter_normalized --json "$work/report.json"

if [ -n "${LATENCY:-}" ]; then
  [ ${#edited[@]} -gt 0 ] || fail "LATENCY=$LATENCY: no edit model is there to be timed"
  python "$root/benchmarks/speed.py" checkpoints "$work/data" "${edited[@]}" ${ar[@]+"${ar[@]}"} \
    -s "$from" -t "$to" --sentences "$LATENCY"
fi

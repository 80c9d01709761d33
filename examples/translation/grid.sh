#!/usr/bin/env bash
# Trains every configuration of one of the paper's ablations and sets them side by side:
#
#     bash examples/translation/grid.sh WORK GRID [levt|distilled] [fairseq-train's flags …]
#     UPDATES=20000 bash examples/translation/grid.sh WORK early_exit distilled --max-tokens 4000
#
# GRID is weight_sharing, early_exit or roll_in, a list in examples/translation/grid, or a list of your
# own: a name and flags of fairseq-train on each line. The expert is the reference (levt) or the teacher
# (distilled), as in train.sh, whose settings (UPDATES, SEED) hold here too. WORK/levt-NAME or
# WORK/distilled-NAME gets the checkpoints and train.log; those that are complete are not trained again.
set -euo pipefail
unset CDPATH

here="$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/../post_editing/common.sh"

[ $# -ge 2 ] || fail "a folder and a grid are needed: bash examples/translation/grid.sh WORK GRID [levt|distilled] [flags …]"
[ -d "$1/data" ] || fail "no data in $1: bash examples/translation/prepare.sh DATA $1 makes them"
work="$(cd "$1" && pwd)"
grid="$2"
[ -f "$grid" ] || grid="$here/grid/$2.txt"
[ -f "$grid" ] || fail "no grid $2: weight_sharing, early_exit, roll_in or a file with names and flags"
shift 2
expert=levt
case "${1:-}" in levt | distilled) expert="$1" && shift ;; esac

systems=()
while read -r -a words <&3; do
  [[ ${#words[@]} -gt 0 && "${words[0]}" != "#"* ]] || continue
  system="$expert-${words[0]}"
  systems+=("$system")
  echo "== $system ${words[*]:1}"
  mkdir -p "$work/$system"
  bash "$here/train.sh" "$work" "$expert" "${words[@]:1}" --save-dir "$work/$system" "$@" \
    >>"$work/$system/train.log" 2>&1 ||
    fail "training failed: $(grep -v '^ ' "$work/$system/train.log" | tail -n 1) ($work/$system/train.log)"
  grep -oE "valid on .* del_nll [0-9.]+" "$work/$system/train.log" | tail -n 1 |
    sed -E 's/.* del_nll /deletion loss in validation, bits: /'
done 3<"$grid"
[ ${#systems[@]} -gt 0 ] || fail "$grid names no configuration"

SYSTEMS="${systems[*]}" bash "$here/generate.sh" "$work"

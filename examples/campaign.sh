#!/usr/bin/env bash
# Measures the rows of RESULTS.md again, one after the other: prepare, train with each seed, evaluate, write a file.
#
#     bash examples/campaign.sh --list                            # the rows, with what each will cost
#     bash examples/campaign.sh WORK DATA                         # all of them
#     CORE=1 bash examples/campaign.sh WORK DATA tagging.enct5 goemotions.latents
#
# DATA has a folder for each data set (--list names them). A row whose file is in RESULTS (WORK/results) is
# skipped; the same command again resumes what was interrupted, down to the training. A row that fails does not
# stop the others: it is named at the end, and the exit status is 1. To have a row in the tables:
# python benchmarks/results.py --add WORK/results/ROW.jsonl
#
# CORE: the processor core to stay on (all). SEEDS ("1 2 3"). UPDATES: of every training, to try it out (each
# row has its own). ROWS: another list (examples/campaign_rows.sh). WORK/ROW gets what a row makes, and log.txt.
set -uo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/post_editing/common.sh"
rows="${ROWS:-$root/examples/campaign_rows.sh}"
seeds="${SEEDS:-1 2 3}"
[ -f "$rows" ] || fail "ROWS=$rows: no such file"
for seed in $seeds; do
  [[ "$seed" =~ ^[0-9]+$ ]] || fail "SEEDS=$seeds: give whole numbers"
done
[ -z "${UPDATES:-}" ] || whole UPDATES "$UPDATES" updates

names=()
declare -A hours needs titles
row() { # row NAME HOURS DATA TITLE: lists a row, which a function NAME measures
  names+=("$1")
  hours[$1]="$2" needs[$1]="$3" titles[$1]="$4"
}

# ---------------------------------------------------------------- what a row is made of

step() { # step STAMP COMMAND…: runs a command whose stamp is not there, and notes it for the result
  local stamp="$work/$row/$1.done" shown
  shift
  shown="$(printf '%q ' "$@")"
  shown="${shown#env }" shown="${shown#BERT= }" shown="${shown//"$work/$row"/WORK}" shown="${shown//"$data"/DATA}"
  [ -z "${bert:-}" ] || shown="${shown//"$bert"/MINILM}"
  commands+=("${shown//"$root/"/}")
  [ ! -f "$stamp" ] || return 0
  echo "== ${commands[-1]}"
  "$@"
  touch "$stamp"
}

updates() { # updates N: N, or UPDATES
  echo "${UPDATES:-$1}"
}

fresh() { # fresh STAMP FOLDER: deletes what an interrupted step left behind
  [ -f "$work/$row/$1.done" ] || rm -rf "$2"
}

spent() { # spent: processor seconds of this row's processes, earlier ones too; not from a subshell
  local before=0
  [ ! -f "$work/$row/seconds" ] || before="$(cat "$work/$row/seconds")"
  times >"$work/$row/times"
  awk -v sum="$before" 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } }
    END { printf "%.1f\n", sum }' "$work/$row/times"
}

result() { # result ARGUMENTS…: writes the row's file, by benchmarks/write_result.py
  local line flags=()
  for line in "${commands[@]}"; do flags+=(--command "${line% }"); done
  spent >"$work/$row/total"
  python "$root/benchmarks/write_result.py" "$results/$row.jsonl" "${flags[@]}" \
    --hours "$(awk '{ print $1 / 3600 }' "$work/$row/total")" "$@"
}

seed_flags() { # seed_flags FILE NAMES…: sets taken to --seeds and a --take for each seed's system
  local file="$1" name
  shift
  taken=(--seeds $seeds)
  for name in "$@"; do taken+=(--take "$file" "$name"); done
}

# ---------------------------------------------------------------- the list

source "$rows"
if [ "${1:-}" = --list ]; then
  printf '%-34s %10s  %-26s %s\n' row "core hours" DATA/ ""
  for name in "${names[@]}"; do
    printf '%-34s %10s  %-26s %s\n' "$name" "${hours[$name]}" "${needs[$name]}" "${titles[$name]}"
  done
  exit 0
fi
[ $# -ge 2 ] || fail "two folders are needed: bash examples/campaign.sh WORK DATA [ROW …], or --list"
[ -d "$2" ] || fail "no folder $2: give the one that holds the data sets"
mkdir -p "$1" || fail "cannot make $1: name another folder"
work="$(cd "$1" && pwd)" data="$(cd "$2" && pwd)"
shift 2
results="${RESULTS:-$work/results}"
mkdir -p "$results" || fail "cannot make $results: name another folder"
results="$(cd "$results" && pwd)"
for name in "$@"; do
  [ -n "${titles[$name]:-}" ] || fail "no row $name: bash examples/campaign.sh --list names them"
done

if [ -n "${CAMPAIGN_ROW:-}" ]; then # one row, in a process of its own
  set -e
  row="$CAMPAIGN_ROW" commands=()
  trap 'spent >"$work/$row/seconds.new"; mv "$work/$row/seconds.new" "$work/$row/seconds"' EXIT
  for folder in ${needs[$row]}; do
    [ -d "$data/$folder" ] || fail "no folder $data/$folder"
  done
  "$row"
  exit 0
fi

[ -z "${CORE:-}" ] || taskset -cp "$CORE" $$ >/dev/null || fail "CORE=$CORE: give the number of a core"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
trap 'echo "interrupted: the same command resumes" >&2; exit 130' INT TERM
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=("${names[@]}")
failed=()
for row in "${wanted[@]}"; do
  if [ -f "$results/$row.jsonl" ]; then
    echo "$row: is there"
    continue
  fi
  mkdir -p "$work/$row"
  exec 9>"$work/$row/lock"
  if command -v flock >/dev/null && ! flock -n 9; then
    echo "$row: runs elsewhere"
    continue
  fi
  echo "$row: about ${hours[$row]} core hours; $work/$row/log.txt"
  CAMPAIGN_ROW="$row" bash "${BASH_SOURCE[0]}" "$work" "$data" >>"$work/$row/log.txt" 2>&1 </dev/null
  status=$?
  if [ "$status" -eq 0 ] && [ -f "$results/$row.jsonl" ]; then
    echo "$row: measured"
  else
    failed+=("$row")
    echo "$row: failed (status $status): $(grep -v '^[[:space:]]*$' "$work/$row/log.txt" | tail -n 1)" >&2
  fi
done
[ ${#failed[@]} -eq 0 ] || fail "not measured: ${failed[*]}; the same command tries them again"

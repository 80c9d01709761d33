#!/usr/bin/env bash
# From nothing to a post-editor of spelling, trained on this machine. See --help.
set -euo pipefail
unset CDPATH

root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
python="$root/.venv/bin/python"
minutes=10
seed=1
work="$root/.quickstart"
keep=no

usage() {
  cat <<'TEXT'
usage: bash examples/quickstart.sh [--minutes 10] [--seed 1] [--work DIR] [--keep]

Makes .venv if need be, writes the data (real misspellings, as characters), trains a small
Levenshtein Transformer to correct them, scores it on misspellings it has not seen, shows eight
edits step by step, and says how to do the same with your own text.

  --minutes N   time for the training, fractions allowed (default 10); it ends in time on any machine
  --seed N      seed of the training; the data are split the same way for every seed (default 1)
  --work DIR    where data and models go (default .quickstart in the repository root)
  --keep        train nothing: score and show the newest model in DIR again

Can be repeated: what is installed and the data in DIR are used again; every training goes to a
folder of its own, DIR/run-1, DIR/run-2 and so on, and none is ever overwritten. The newest one is
resumed where it was interrupted.
TEXT
}

fail() {
  printf 'error: %s\n' "${1//[[:cntrl:]]/?}" >&2
  exit "${2:-1}"
}
trap 'trap - INT TERM; fail "interrupted: the same command again starts anew from the last finished step" 130' INT TERM

read_arguments() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --minutes | --seed | --work)
        [ $# -gt 1 ] && [ -n "$2" ] || fail "$1 needs a value: see --help" 2
        case "$1" in
          --minutes) minutes="$2" ;;
          --seed) seed="$2" ;;
          --work) work="$2" ;;
        esac
        shift 2
        ;;
      --minutes=* | --seed=* | --work=*)
        set -- "${1%%=*}" "${1#*=}" "${@:2}"
        ;;
      --keep)
        keep=yes
        shift
        ;;
      -h | --help)
        usage
        exit 0
        ;;
      *) fail "unknown argument $1: see --help" 2 ;;
    esac
  done
  [[ "$minutes" =~ ^[0-9]+(\.[0-9]+)?$ && "$minutes" =~ [1-9] ]] ||
    fail "--minutes must be a number above 0, not '$minutes'" 2
  [[ "$seed" =~ ^[0-9]{1,9}$ ]] || fail "--seed must be a whole number from 0 to 999999999, not '$seed'" 2
  case "$work" in
    /*) ;;
    *) work="$PWD/$work" ;;
  esac
}

logged() { # logged STEP COMMAND…: the output goes to DIR/STEP.log and is shown where it fails
  local name="$1"
  shift
  "$@" >"$work/$name.log" 2>&1 || {
    tail -n 5 "$work/$name.log" >&2
    fail "the step '$name' failed: see $work/$name.log"
  }
}

prepare() { # the data, once: finished folders get their name at the end
  local said
  if [ ! -f "$text/train.typo" ]; then
    logged prepare "$python" examples/spelling_and_ocr/prepare_codespell.py "$text.new"
    said="$(cat "$work/prepare.log")"
    printf '%s\n' "${said//"$text.new"/"$text"}"
    rm -rf "$text"
    mv "$text.new" "$text"
    rm -rf "$data"
  fi
  if [ ! -d "$data" ]; then
    rm -rf "$data.new"
    logged preprocess "$python" -m lev_plugins.cli.preprocess \
      --source-lang typo --target-lang word --draft-lang draft --joined-dictionary \
      --trainpref "$text/train" --validpref "$text/valid" --testpref "$text/test" \
      --destdir "$data.new"
    mv "$data.new" "$data"
  else
    echo "the data are there: $data"
  fi
}

cores() {
  nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2
}

train() {
  OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(cores)}" "$python" examples/spelling_and_ocr/train.py \
    "$data" "$save" --minutes "$minutes" --seed "$seed" ||
    fail "the training failed (status $?): the lines above say why"
  [ -f "$save/checkpoint_best.pt" ] ||
    fail "the training ended without a model in $save: give it more time with --minutes"
}

evaluate() { # accuracy beside doing nothing, mean iterations, eight edits
  OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(cores)}" "$python" examples/spelling_and_ocr/evaluate.py \
    "$data" "$save/checkpoint_best.pt" ||
    fail "the scoring failed (status $?): the lines above say why"
}

choose_run() { # sets save: the newest run that has a model, one to resume, or the next free folder
  local number=1 newest="" begun=""
  while [ -e "$work/run-$number" ]; do
    save="$work/run-$number" begun=""
    if [ -f "$save/checkpoint_best.pt" ]; then
      newest="$save"
    elif [ -f "$save/checkpoint_last.pt" ]; then
      begun="$save"
    fi
    number=$((number + 1))
  done
  save="${begun:-$work/run-$number}"
  if [ "$keep" = yes ]; then
    save="$newest"
    [ -n "$save" ] || fail "--keep finds no trained model in $work: leave it out to train one"
  fi
}

your_own() {
  cat <<TEXT

Your own text: three files with as many lines each, tokens separated by spaces, for train, valid
and test. In a folder my, as my/train.src (what the editor reads), my/train.mt (the draft it starts
from) and my/train.pe (what it should become):

  .venv/bin/python -m lev_plugins.cli.preprocess --source-lang src --target-lang pe --draft-lang mt \\
    --joined-dictionary --trainpref my/train --validpref my/valid --testpref my/test --destdir my/data
  .venv/bin/python examples/spelling_and_ocr/train.py my/data my/run --minutes 10
  .venv/bin/python examples/spelling_and_ocr/evaluate.py my/data my/run/checkpoint_best.pt

TEXT
}

read_arguments "$@"
cd "$root"
bash examples/environment.sh || exit 1
mkdir -p "$work" 2>/dev/null || fail "cannot make the folder $work: name another with --work"
text="$work/text"
data="$work/data"
choose_run

echo "== data"
prepare
if [ "$keep" = yes ]; then
  echo "== no training: $save"
else
  echo "== training for $minutes minutes: $save"
  train
fi
echo "== misspellings it has not seen"
evaluate
your_own
echo "quickstart: done, the model is $save/checkpoint_best.pt"

#!/usr/bin/env bash
# Installs the package and trains a spelling corrector on this machine:
#
#     bash examples/quickstart.sh [--minutes 10] [--system pbd] [--seed 1] [--work DIR]
#
# Makes .venv if needed, writes the data (real and synthetic misspellings and right words), trains a small model of
# characters to correct words in running text, tunes its threshold so that at most one right word in two hundred is
# changed, scores it beside a dictionary corrector with the same words, corrects a line, and says how to do the same
# with your own text.
#
#   --system NAME pbd (default, writes from left to right), transformer (fairseq's, of its size) or
#                 levt (the Levenshtein Transformer, which also shows its edits step by step)
#   --minutes N   training time, fractions allowed (default 10); it ends on time on any machine
#   --seed N      seed of the training; the data are split the same way for every seed (default 1)
#   --work DIR    folder for data and models (default .quickstart in the repository root)
#
# Can be repeated: the installation and the data in DIR are reused; every training gets its own folder,
# DIR/run-1, DIR/run-2 and so on; none is ever overwritten. An interrupted training is resumed.
set -euo pipefail
unset CDPATH
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

python="$root/.venv/bin/python" spelling="$root/examples/spelling_and_ocr"
minutes=10 seed=1 system=pbd work="$root/.quickstart"
example="Teh goverment beleives that the new tecnology will accomodate evrybody."
trap 'trap - INT TERM; fail "interrupted: the same command again starts anew from the last finished step" 130' INT TERM

while [ $# -gt 0 ]; do
  case "$1" in
    --minutes=* | --seed=* | --system=* | --work=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
    --minutes | --seed | --system | --work)
      [ $# -gt 1 ] && [ -n "$2" ] || fail "$1 needs a value: see --help" 2
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    *) fail "unknown argument $1: see --help" 2 ;;
  esac
done
[[ "$minutes" =~ ^[0-9]+(\.[0-9]+)?$ && "$minutes" =~ [1-9] ]] ||
  fail "--minutes must be a number above 0, not '$minutes'" 2
[[ "$seed" =~ ^[0-9]{1,9}$ ]] || fail "--seed must be a whole number from 0 to 999999999, not '$seed'" 2
[[ "$system" =~ ^(pbd|levt|transformer)$ ]] || fail "--system must be pbd, transformer or levt, not '$system'" 2
[[ "$work" == /* ]] || work="$PWD/$work"
[ -f "$work/text/confusions.txt" ] || { [ ! -e "$work/text" ] && [ ! -e "$work/data" ]; } ||
  fail "$work/text or $work/data already exists: name another folder with --work"

cd "$root"
bash examples/environment.sh || exit 1
mkdir -p "$work" 2>/dev/null || fail "cannot make the folder $work: name another with --work"
text="$work/text" data="$work/data" number=1
while [ -f "$work/run-$number/checkpoint_best.pt" ]; do number=$((number + 1)); done
save="$work/run-$number"
model=(--path "$save/checkpoint_best.pt" --data "$data")

echo "== a corrector of English that comes with the package"
printf '%s\n' "$example" "$(printf '%s\n' "$example" | "$python" -m lev_plugins correct)"

echo "== data" # once: finished folders get their name at the end
if [ ! -f "$text/confusions.txt" ]; then
  logged "$work/prepare.log" "$python" "$spelling/prepare_typos.py" "$text.new"
  head -n 1 "$work/prepare.log"
  mv "$text.new" "$text"
fi
if [ ! -d "$data" ]; then
  rm -rf "$data.new"
  logged "$work/preprocess.log" "$python" -m lev_plugins preprocess --source-lang typo --target-lang word \
    --draft-lang draft --joined-dictionary --trainpref "$text/train" --validpref "$text/valid" \
    --testpref "$text/test" --destdir "$data.new"
  mv "$data.new" "$data"
fi
echo "data: $data"

echo "== training for $minutes minutes: $save"
OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(nproc 2>/dev/null || echo 2)}" "$python" "$spelling/train.py" \
  "$data" "$save" --minutes "$minutes" --seed "$seed" --system "$system" ||
  fail "the training failed (status $?): the lines above say why"

echo "== tuning and scores" # at most one right word in two hundred is to be changed; correct then does so by itself
lists=(--lexicon "$text/lexicon.txt" --lookup "$text/lookup.tsv" --bigrams "$text/bigrams.txt"
  --confusions "$text/confusions.txt" --settings "$work/weights.json")
printf '{"weights": {"lookup": 2.4}}\n' >"$work/weights.json"
[ "$system" != levt ] || lists=(--unit letters) # an edit model is not ranked
logged "$work/tune.log" "$python" -m lev_plugins correct tune "${model[@]}" "${lists[@]}" \
  "$text/dev.noisy" "$text/dev.clean" --goal changed:0.5
grep '^calibrated' "$work/tune.log" || true
# beside no edits and a dictionary corrector; a line; LevT's edits step by step
"$python" "$spelling/score_typos.py" "$text" "$save/checkpoint_best.pt" --data "$data" ||
  fail "the scoring failed (status $?): the lines above say why"
printf '%s\n' "$example" "$(printf '%s\n' "$example" | "$python" -m lev_plugins correct "${model[@]}")"
[ "$system" != levt ] || head -n 3 "$text/test_heldout.noisy" | awk '{ print $0 "\t" $0 }' |
  "$python" -m lev_plugins trace "${model[@]}"
cat <<TEXT

Correct your own files with it:

  .venv/bin/python -m lev_plugins correct ${model[*]} FILE > CORRECTED

Train on your own text: with and without errors, examples/guides/correcting_text.md; without errors alone,
bash examples/spelling_and_ocr/make_corrector.sh LANGUAGE CLEAN.txt

TEXT
echo "quickstart: done, the model is $save/checkpoint_best.pt"

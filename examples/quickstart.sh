#!/usr/bin/env bash
# Installs the package and trains a spelling corrector on this machine:
#
#     bash examples/quickstart.sh [--minutes 10] [--seed 1] [--work DIR]
#
# Makes .venv if needed, corrects a line with the built-in corrector, and trains one of its kind: a small PBD of
# characters, of public lists of words and misspellings. It is tuned so that at most one right word in two hundred is
# changed, and scored beside a dictionary corrector with the same words. Each step is one of
# examples/spelling_and_ocr/make_corrector.sh, which does the same with your own text.
#
#   --minutes N   CPU minutes of the training, fractions allowed (default 10): the same training on a busy machine
#   --seed N      seed of the training; the data are split the same way for every seed (default 1)
#   --work DIR    folder for data and models (default .quickstart in the repository root)
#
# Can be repeated: the installation and the data in DIR are reused, and an interrupted training is resumed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

minutes=10 seed=1 work="$root/.quickstart"
example="Teh goverment beleives that the new tecnology will accomodate evrybody."
trap 'trap - INT TERM; fail "interrupted: the same command again starts anew from the last finished step" 130' INT TERM

while [ $# -gt 0 ]; do
  case "$1" in
    --minutes=* | --seed=* | --work=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
    --minutes | --seed | --work)
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
[[ "$work" == /* ]] || work="$PWD/$work"
[ -f "$work/words.log" ] || [ -z "$(ls -A "$work" 2>/dev/null)" ] ||
  fail "$work has other files: name another folder with --work"

cd "$root"
bash examples/environment.sh || exit 1
mkdir -p "$work" 2>/dev/null || fail "cannot make the folder $work: name another with --work"
export PATH="$root/.venv/bin:$PATH"

echo "== a corrector of English that comes with the package"
printf '%s\n' "$example" "$(printf '%s\n' "$example" | lev-correct)"

bash examples/spelling_and_ocr/make_corrector.sh en --minutes "$minutes" --seed "$seed" --work "$work" || exit 1
printf '%s\n' "$example" "$(printf '%s\n' "$example" | lev-correct --path "$work/model")"
cat <<TEXT

Correct your own files with it:

  .venv/bin/lev-correct --path $work/model FILE > CORRECTED

Train on your own text: with and without errors, examples/guides/correcting_text.md; without errors alone,
bash examples/spelling_and_ocr/make_corrector.sh LANGUAGE CLEAN.txt

TEXT
echo "quickstart: done, the model is $work/model"

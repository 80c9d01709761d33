#!/usr/bin/env bash
# Installs the package and trains a model on this machine, a spelling corrector or a LevT:
#
#     bash examples/quickstart.sh [--minutes 10] [--seed 1] [--work DIR]
#     bash examples/quickstart.sh levt [--minutes 5] [--seed 1] [--work DIR]
#
# Makes .venv if needed. Without levt it corrects a line with the built-in corrector, and trains one of its kind: a
# small PBD of characters, of public lists of words and misspellings. It is tuned so that at most one right word in two
# hundred is changed, and scored beside a dictionary corrector with the same words. Each step is one of
# examples/spelling_and_ocr/make_corrector.sh, which does the same with your own text.
#
# With levt it makes sentences about dates, whose drafts are translations of other dates (examples/post_editing/dates.py),
# and shows each of fairseq's commands: it trains a small LevT, decodes, edits a line, and exports the model.
#
#   --minutes N   CPU minutes of the training, fractions allowed (default 10 or 5): the same training on a busy machine
#   --seed N      seed of the training; the data are the same for every seed (default 1)
#   --work DIR    folder for data and models (default .quickstart or .quickstart-levt in the repository root)
#
# Can be repeated: the installation and the data in DIR are reused, and an interrupted training is resumed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

levt="" minutes=10 seed=1 work="$root/.quickstart"
[ "${1:-}" != levt ] || { levt=1 minutes=5 work="$root/.quickstart-levt" && shift; }
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
made=words.log
[ -z "$levt" ] || made=text
[ -e "$work/$made" ] || [ -z "$(ls -A "$work" 2>/dev/null)" ] ||
  fail "$work has other files: name another folder with --work"

cd "$root"
bash examples/environment.sh || exit 1
mkdir -p "$work" 2>/dev/null || fail "cannot make the folder $work: name another with --work"
export PATH="$root/.venv/bin:$PATH"

shown() { # shown COMMAND…: prints it and runs it
  printf '\n$%s\n' "$(printf ' %q' "$@")" >&2
  "$@"
}

if [ -n "$levt" ]; then
  cd "$work"
  task=(--user-dir "$root/lev_plugins" --task translation_edit --draft-lang mt --bpe sentencepiece --sentencepiece-model spm.model)
  if [ ! -d data ]; then
    shown python "$root/examples/post_editing/dates.py" .
    shown python "$root/examples/post_editing/pieces.py" . 1000 train,valid,test src,mt,pe
    rm -rf data.part
    shown lev-preprocess --source-lang src --target-lang pe --draft-lang mt --joined-dictionary \
      --trainpref pieces/train --validpref pieces/valid --testpref pieces/test --destdir data.part
    mv data.part data
  fi
  shown fairseq-train data "${task[@]}" --arch levenshtein_editor_char --share-all-embeddings --criterion edit_policy_loss \
    --optimizer muon --muon-update-rms 0.4 --lr 0.004 --clip-norm 1 --lr-scheduler time_budget --processor-time \
    --stop-time-hours "$(awk -v m="$minutes" 'BEGIN { print m / 60 }')" --max-tokens 2000 --log-interval 100 \
    --log-format simple --alpha-start 0 --beta-start 0 --roll-in-updates 0.3 --seed "$seed" --save-dir levt
  shown fairseq-generate data "${task[@]}" --path levt/checkpoint_best.pt --print-step >test.out
  shown lev-report test.out --drafts text/test.mt --references text/test.pe --metrics accuracy,ter,bleu
  head -n 1 text/test.src | paste - <(head -n 1 text/test.mt) >line.txt # source<TAB>draft
  shown fairseq-interactive data "${task[@]}" --path levt/checkpoint_best.pt --input line.txt
  [ -d exported ] || shown lev-export levt/checkpoint_best.pt exported
  echo "quickstart: done, the model is $work/levt/checkpoint_best.pt; your own drafts: examples/guides/post_editing.md"
  exit
fi

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

#!/usr/bin/env bash
# Makes the data of a classifier or a tagger:
#
#     bash examples/classification/prepare.sh KIND DATA WORK [enct5_prepare's flags …]
#     bash examples/classification/prepare.sh tagging UD_EWT WORK
#     VOCAB=8000 bash examples/classification/prepare.sh multilabel GOEMOTIONS WORK --max-length 128
#     T5=DIR bash examples/classification/prepare.sh classification COLA WORK
#     BERT=DIR bash examples/classification/prepare.sh multilabel GOEMOTIONS WORK --max-length 128
#
# KIND says what DATA holds, plain or .gz, each name perhaps behind another one, as cola.train.tsv:
#   tagging         {train,dev,test}.tok and .upos, words and tags with spaces between them; or
#                   {train,dev,test}.conllu, of which TAGS (upos) are taken, or xpos
#   multilabel      {train,dev,test}.tsv, lines of labels, tab and text: names or numbers with commas
#                   between them; labels.txt, all names in their order
#   classification  {train,dev}.tsv, lines of label, tab and text, and test.tsv where there is one. Else
#                   dev is the test set, and every tenth line of train chooses the checkpoint (HOLD_OUT,
#                   10; 0: dev chooses too)
# Subwords are learnt from the training text, VOCAB (classification 2000, else 4000) of them;
# VOCAB=bytes takes bytes; T5 or BERT is a local folder of such a model, whose subwords are taken and with whose
# encoder train.sh begins. WORK/text gets the text, WORK/data what is trained on.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/../post_editing/common.sh"

[ $# -ge 3 ] ||
  fail "what, from where, to where: bash examples/classification/prepare.sh tagging|multilabel|classification DATA WORK"
kind="$1" data="$2" work="$3"
shift 3
t5="${T5:-}" bert="${BERT:-}" tags="${TAGS:-upos}" hold_out="${HOLD_OUT:-10}"
case "$kind" in
tagging) vocab=4000 ;;
multilabel) vocab=4000 ;;
classification) vocab=2000 ;;
*) fail "no kind $kind: tagging, multilabel or classification" ;;
esac
vocab="${VOCAB:-$vocab}"
[ -d "$data" ] || fail "no folder $data: give the one that holds train.tsv and so on"
[ ! -e "$work/data" ] || fail "$work/data is there already: delete it or name another folder"
[ "$vocab" = bytes ] || [[ "$vocab" =~ ^[1-9][0-9]*$ ]] || fail "VOCAB=$vocab: give a number of subwords, or bytes"
[ -z "$t5" ] || [ -z "$bert" ] || fail "T5 and BERT: a model has one encoder; leave one of them out"
start="$t5$bert"
[ -z "$start" ] || [ -d "$start" ] || fail "no folder $start: give one with config.json and weights"
[ -z "$start" ] || [ -z "${VOCAB:-}" ] || fail "VOCAB=$vocab: the subwords are those of $start; leave it out"
case "$tags" in upos | xpos) ;; *) fail "TAGS=$tags: upos or xpos" ;; esac
[[ "$hold_out" =~ ^[0-9]+$ ]] && [ "$hold_out" != 1 ] || fail "HOLD_OUT=$hold_out: 0, or a number of 2 or more"

find_file() { # find_file NAME: sets found to the one file of that name, without .gz, or to nothing
  local path all=()
  found=""
  for path in "$data/$1" "$data/$1.gz" "$data"/*[._-]"$1" "$data"/*[._-]"$1.gz"; do
    [ ! -f "$path" ] || all+=("${path%.gz}")
  done
  [ ${#all[@]} -le 1 ] || fail "$data has several files $1: ${all[*]}"
  found="${all[0]:-}"
}

names=()
case "$kind" in
tagging)
  find_file train.conllu
  if [ -n "$found" ]; then
    names=(train.conllu dev.conllu test.conllu)
  else
    for part in train dev test; do names+=("$part.tok" "$part.upos"); done
  fi
  ;;
multilabel) names=(train.tsv dev.tsv test.tsv labels.txt) ;;
classification)
  names=(train.tsv dev.tsv)
  find_file test.tsv
  [ -z "$found" ] || names+=(test.tsv)
  ;;
esac
files=() missing=()
for name in "${names[@]}"; do
  find_file "$name"
  files+=("$found")
  [ -n "$found" ] || missing+=("$name")
done
[ ${#missing[@]} -eq 0 ] || fail "$data lacks ${missing[*]} (plain or .gz)"

mkdir -p "$work" || fail "cannot make folders in $work: name another one"
work="$(cd "$work" && pwd)"
rm -rf "$work/source" "$work/text"
mkdir "$work/source" "$work/text"
for number in "${!names[@]}"; do
  unpack "${files[number]}" "$work/source/${names[number]}"
done

python "$root/examples/classification/prepare.py" \
  "$kind" "$work/source" "$work/text" --tags "$tags" --hold-out "$hold_out"
rm -r "$work/source"
rm -f "$work/t5" "$work/bert"
if [ -n "$start" ]; then
  start="$(cd "$start" && pwd)"
  name="$([ -n "$t5" ] && echo t5 || echo bert)"
  printf '%s\n' "$start" >"$work/$name"
  pieces=("--$name-dir" "$start")
else
  pieces=(--vocab-size "$vocab")
  [ "$vocab" != bytes ] || pieces=(--bytes)
fi
[ ! -f "$work/text/labels.txt" ] || pieces+=(--labels "$work/text/labels.txt")
python -m lev_plugins enct5-prepare --kind "$kind" \
  --train "$work/text/train.tsv" --valid "$work/text/valid.tsv" --test "$work/text/test.tsv" \
  "${pieces[@]}" --destdir "$work/data" "$@"
printf '%s\n' "$kind" >"$work/kind"
echo "prepare: done; next: bash examples/classification/train.sh $work"

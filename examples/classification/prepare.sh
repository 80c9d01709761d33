#!/usr/bin/env bash
# Makes the data of a classifier or a tagger:
#
#     bash examples/classification/prepare.sh KIND DATA WORK [lev-enct5-prepare's flags …]
#     bash examples/classification/prepare.sh tagging UD_EWT WORK
#     VOCAB=8000 bash examples/classification/prepare.sh multilabel GOEMOTIONS WORK --max-length 128
#     BERT=DIR bash examples/classification/prepare.sh multilabel GOEMOTIONS WORK --max-length 128
#
# KIND says what DATA holds, plain or .gz; names may have a prefix, as in cola.train.tsv:
#   tagging         {train,dev,test}.tok and .upos, words and tags separated by spaces; or
#                   {train,dev,test}.conllu; universal tags are used
#   multilabel      {train,dev,test}.tsv, lines of labels, tab and text: names, or numbers from 0, with commas between
#                   them; labels.txt, all names in their order
#   classification  {train,dev}.tsv, lines of label, tab and text, and optionally test.tsv. Without it dev is the
#                   test set, and every tenth training line is used for validation
# VOCAB (classification 2000, otherwise 4000) subwords are learnt from the training text; T5 or BERT is a local
# folder of such a model: its subwords are used, and train.sh starts from its encoder. WORK/text gets {train,valid,
# test}.tsv, labels, tab and text; WORK/data what is trained on.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 3 ] || fail "what, from where, to where: bash $here tagging|multilabel|classification DATA WORK"
kind="$1" data="$2" work="$3" t5="${T5:-}" bert="${BERT:-}"
shift 3
one_of kind "$kind" tagging multilabel classification
vocab="${VOCAB:-$([ "$kind" = classification ] && echo 2000 || echo 4000)}"
new_folder "$data" "$work"
whole VOCAB "$vocab" subwords
[ -z "$t5" ] || [ -z "$bert" ] || fail "T5 and BERT: a model has one encoder; leave one of them out"
start="$t5$bert"
[ -z "$start" ] || [ -d "$start" ] || fail "no folder $start: give one with config.json and weights"
[ -z "$start" ] || [ -z "${VOCAB:-}" ] || fail "VOCAB=$vocab: the subwords are those of $start; leave it out"

take() { # take NAME: DATA's one file of that name, unpacked into WORK/source; fails where there is none
  local path all=()
  for path in "$data/$1" "$data/$1.gz" "$data"/*[._-]"$1" "$data"/*[._-]"$1.gz"; do
    [ ! -f "$path" ] || all+=("${path%.gz}")
  done
  [ ${#all[@]} -le 1 ] || fail "$data has several files $1: ${all[*]}"
  [ ${#all[@]} -eq 1 ] && unpack "${all[0]}" "$source/$1"
}
unquote() { # unquote TSV: cells in quotes, with doubled ones inside, are those of a CSV
  awk -F'\t' -v OFS='\t' '{ sub(/\r$/, "")
    for (i = 1; i <= NF; i++) if ($i ~ /^"[^"]*(""[^"]*)+"$/) { $i = substr($i, 2, length($i) - 2); gsub(/""/, "\"", $i) } }
    1' "$1"
}
source="$work/source" text="$work/text" pieces=(--vocab-size "$vocab")
[ ! -e "$text" ] && [ ! -e "$source" ] || fail "$text or $source already exists: name another folder"
mkdir -p "$text" || fail "cannot make folders in $work: name another one"
work="$(cd "$work" && pwd)"
trap '[ -d "$work/data" ] || rm -rf "$work/source" "$work/text"; rmdir "$work" 2>/dev/null || true' EXIT

for part in train dev test; do
  out="$text/${part/dev/valid}.tsv"
  if [ "$kind" != tagging ]; then
    take "$part.tsv" || { [ "$kind-$part" = classification-test ] && break; } || fail "$data lacks $part.tsv (plain or .gz)"
    unquote "$source/$part.tsv" >"$out"
  elif take "$part.conllu"; then # words that hold a space get _ for it
    awk -F'\t' 'function flush() { if (words) print tags "\t" words; words = tags = "" }
      /^[0-9]+\t/ { gsub(/ |\302\240|\342\200\257/, "_", $2); gap = words ? " " : ""; words = words gap $2; tags = tags gap $4 }
      /^\r?$/ { flush() } END { flush() }' "$source/$part.conllu" >"$out"
  else
    take "$part.tok" && take "$part.upos" || fail "$data lacks $part.conllu, or $part.tok and $part.upos (plain or .gz)"
    paste "$source/$part.upos" "$source/$part.tok" | tr -d '\r' >"$out"
  fi
done
if [ "$kind" = multilabel ]; then
  take labels.txt || fail "$data lacks labels.txt (plain or .gz)"
  for part in train valid test; do # numbers become names
    awk -F'\t' -v OFS='\t' '{ sub(/\r$/, "") } NR == FNR { name[NR - 1] = $0; next } { count = split($1, some, ","); $1 = ""
      for (i = 1; i <= count; i++) { gsub(/^ +| +$/, "", some[i]); $1 = $1 (i > 1 ? "," : "") (some[i] in name ? name[some[i]] : some[i]) } print }' \
      "$source/labels.txt" "$text/$part.tsv" >"$text/part" && mv "$text/part" "$text/$part.tsv"
  done
  mv "$source/labels.txt" "$text/labels.txt"
  pieces+=(--labels "$text/labels.txt")
elif [ ! -f "$text/test.tsv" ]; then
  mv "$text/valid.tsv" "$text/test.tsv"
  awk -v held="$text/valid.tsv" 'NR % 10 == 0 { print >held; next } 1' "$text/train.tsv" >"$text/part"
  mv "$text/part" "$text/train.tsv"
  echo "note: without a test set dev is the test set, and every tenth training line is used for validation" >&2
fi
if [ -n "$start" ]; then
  start="$(cd "$start" && pwd)" name="$([ -n "$t5" ] && echo t5 || echo bert)"
  printf '%s\n' "$start" >"$work/$name"
  pieces=("--$name-dir" "$start" "${pieces[@]:2}")
fi
python -m lev_plugins enct5-prepare --kind "$kind" --train "$text/train.tsv" --valid "$text/valid.tsv" \
  --test "$text/test.tsv" "${pieces[@]}" --destdir "$work/data" "$@"
rm -r "$source"
printf '%s\n' "$kind" >"$work/kind"
echo "prepare: done; next: bash examples/classification/train.sh $work"

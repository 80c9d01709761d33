#!/usr/bin/env bash
# Makes data for post-editing from three times three text files:
#
#     bash examples/post_editing/prepare.sh DATA WORK
#
# DATA holds {train,dev,test}.{src,mt,pe}, plain or .gz: line n of a part's three files belongs
# together. WORK gets the text, a sentencepiece model of VOCABULARY (8000) pieces learned from the
# training text, the text in pieces, and WORK/data, the binarised data.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
vocabulary="${VOCABULARY:-8000}"

[ $# -eq 2 ] || fail "two folders are needed: bash examples/post_editing/prepare.sh DATA WORK"
data="$1" work="$2"
[ -d "$data" ] || fail "no folder $data: give the one that holds train.src, train.mt, train.pe and so on"
[[ "$vocabulary" =~ ^[1-9][0-9]*$ ]] || fail "VOCABULARY=$vocabulary: give a number of pieces"
[ ! -e "$work/data" ] || fail "$work/data is there already: delete it or name another folder"

missing=()
for part in train dev test; do
  for side in src mt pe; do
    [ -f "$data/$part.$side" ] || [ -f "$data/$part.$side.gz" ] || missing+=("$part.$side")
  done
done
[ ${#missing[@]} -eq 0 ] || fail "$data lacks ${missing[*]} (plain or .gz)"

mkdir -p "$work/text" "$work/pieces" || fail "cannot make folders in $work: name another one"
for part in train dev test; do
  for side in src mt pe; do
    if [ -f "$data/$part.$side" ]; then
      cp "$data/$part.$side" "$work/text/$part.$side"
    else
      gzip -dc "$data/$part.$side.gz" >"$work/text/$part.$side" ||
        fail "$data/$part.$side.gz cannot be unpacked: fetch it again"
    fi
    chmod u+w "$work/text/$part.$side"
  done
done

echo "== learning $vocabulary pieces and cutting the text into them"
python - "$work" "$vocabulary" <<'PY'
import sys

import sentencepiece

from lev_plugins.compat import run_cli
from lev_plugins.data.text_files import check_parallel, read_lines

work, vocabulary = sys.argv[1:]
SIDES = ("src", "mt", "pe")

def main() -> None:
    for part in ("train", "dev", "test"):
        check_parallel([f"{work}/text/{part}.{side}" for side in SIDES])
    sentencepiece.SentencePieceTrainer.train(
        input=[f"{work}/text/train.{side}" for side in SIDES],
        model_prefix=f"{work}/spm",
        vocab_size=int(vocabulary),
        hard_vocab_limit=False,  # little text holds fewer pieces than were asked for
        character_coverage=1.0,
        normalization_rule_name="identity",  # what is kept comes out as it went in
        minloglevel=2,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=f"{work}/spm.model")
    for part in ("train", "dev", "test"):
        for side in SIDES:
            with open(f"{work}/pieces/{part}.{side}", "w", encoding="utf-8") as file:
                for line in read_lines(f"{work}/text/{part}.{side}"):
                    file.write(" ".join(pieces.encode(line, out_type=str)) + "\n")

run_cli(main)
PY

echo "== binarising"
python -m lev_plugins.cli.preprocess \
  --source-lang src --target-lang pe --draft-lang mt --joined-dictionary \
  --trainpref "$work/pieces/train" --validpref "$work/pieces/dev" --testpref "$work/pieces/test" \
  --destdir "$work/data"
echo "prepare: done; next: bash examples/post_editing/train.sh $work"

#!/usr/bin/env bash
# The EncT5 paper's comparison: a T5 with the same encoder writes the tags as text.
#
#     bash examples/classification/text_to_text.sh WORK [fairseq-train's flags …]
#
# WORK is what `prepare.sh tagging` made, without a T5 or BERT. Encoder, optimizer and batches are those of train.sh;
# the decoder has as many blocks as the encoder. MINUTES (20) of training; SEED (1). WORK/output gets
# text-to-text.jsonl, which evaluate.py scores; how many words got no tag is printed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [flags …]"
prepared "$1" data/enct5.json "classification/prepare.sh tagging"
shift
SEED="${SEED:-1}" text="$work/as_text"
number SEED
budget 1 1 "${MINUTES:-20}"
if [ ! -d "$text/data" ]; then # What if … → What <0> if <1> …, to be written as <0> PRON <1> SCONJ …
  rm -rf "$text"
  mkdir "$text"
  for part in train valid test; do
    awk -F'\t' '{ n = split($2, word, " "); for (i = 1; i <= n; i++) printf "%s <%d> ", word[i], i - 1; print "" }' \
      "$work/text/$part.tsv" | python "$root/examples/classification/subwords.py" "$work/data" >"$text/$part.words"
    awk -F'\t' '{ n = split($1, tag, " "); for (i = 1; i <= n; i++) printf "<%d> %s ", i - 1, tag[i]; print "" }' \
      "$work/text/$part.tsv" >"$text/$part.tags"
  done
  logged "$work/as_text.log" preprocess --source-lang words --target-lang tags --joined-dictionary \
    --trainpref "$text/train" --validpref "$text/valid" --testpref "$text/test" --destdir "$text/data"
fi
sizes='{"heads": 4, "head_dim": 32, "encoder_layers": 2, "decoder_layers": 2, "dim": 128, "hidden": 256}'
fairseq-train "$text/data" --user-dir "$root/lev_plugins" --task translation --source-lang words --target-lang tags \
  --arch gated_transformer --gates none --backbone-plan '{"kind": "t5", "mask": "<extra_id_0>", "plan": '"$sizes"'}' \
  --dropout 0.15 --criterion cross_entropy --optimizer muon --muon-update-rms 0.2 --adam-betas '(0.9, 0.98)' \
  --clip-norm 1.0 --lr 0.004 "${length[@]}" --max-tokens 2000 --required-batch-size-multiple 1 --seed "$SEED" \
  --save-dir "$work/text-to-text" --no-epoch-checkpoints --disable-validation --save-interval-updates 500 \
  --keep-interval-updates 1 --save-interval 100000 --log-format simple --log-interval 50 "$@"
mkdir -p "$work/output"
fairseq-generate "$text/data" --user-dir "$root/lev_plugins" --task translation --source-lang words --target-lang tags \
  --path "$work/text-to-text/checkpoint_last.pt" --beam 1 --max-tokens 4000 --max-len-a 3 --max-len-b 10 \
  >"$work/output/text-to-text.txt"
# a word's tag is what stands after its number, where that is a tag; else none
grep '^H-' "$work/output/text-to-text.txt" | sed 's/^H-//' | sort -n | cut -f 3 | paste "$work/text/test.tsv" - |
  awk -F'\t' 'NR == FNR { is_tag[$0]; next } { n = split($1, truth, " "); m = split($3, said, " "); split("", tag)
    for (i = 1; i < m; i++) if (said[i + 1] in is_tag) tag[said[i]] = said[i + 1]
    for (i = 0; i < n; i++) printf "%s\"%s\"", i ? ", " : "{\"tags\": [", ("<" i ">" in tag) ? tag["<" i ">"] : "none"
    print "]}" }' "$work/data/labels.txt" - >"$work/output/text-to-text.jsonl"
echo "words without a tag: $(grep -o '"none"' "$work/output/text-to-text.jsonl" | wc -l)"

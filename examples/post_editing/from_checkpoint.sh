#!/usr/bin/env bash
# From a LevT, fairseq's own or ours, and triples of text to a table: no edits, the checkpoint as it is ("zero-shot"),
# and fine-tuned on the triples:
#
#     bash examples/post_editing/from_checkpoint.sh CHECKPOINT DATA WORK [--data FOLDER] [--bpe NAME …]
#
# DATA holds text: {train,dev,test}.{src,mt,pe}, plain or .gz. The flags are lev-preprocess's: the folder with the
# checkpoint's dictionaries, and what cuts text, where the checkpoint does not tell. UPDATES (300) and SEED (1) are of
# the fine-tuning, FLAGS more of its flags. WORK gets the text, the data, finetuned/ and report.json.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 3 ] || fail "a checkpoint, a folder of text and a new one are needed: bash $here CHECKPOINT DATA WORK [flags …]"
checkpoint="$1" data="$2" work="$3" SEED="${SEED:-1}" updates="${UPDATES:-300}"
shift 3
number SEED
budget "$updates" 'updates / 10 + 1' ""
new_folder "$data" "$work"
require "$data" {train,dev,test}.{src,mt,pe}
for file in {train,dev,test}.{src,mt,pe}; do unpack "$data/$file" "$work/text/$file"; done
work="$(cd "$work" && pwd)" languages=(--source-lang src --target-lang pe --draft-lang mt) text=()

logged "$work/preprocess.log" python -m lev_plugins preprocess "${languages[@]}" --trainpref "$work/text/train" \
  --validpref "$work/text/dev" --testpref "$work/text/test" --destdir "$work/data" --like "$checkpoint" "$@" # its last line has the flags
eval "recipe=($(sed -n 's/^next: fairseq-train [^ ]* --user-dir lev_plugins //p' "$work/preprocess.log"))"
[ ${#recipe[@]} -gt 0 ] || fail "$checkpoint is no LevT: it has nothing to edit with"
for index in "${!recipe[@]}"; do
  case "${recipe[index]}" in
  --tokenizer | --bpe | --sentencepiece-model | --bpe-codes) text+=("${recipe[@]:index:2}") ;;
  esac
done

generate() { # generate NAME CHECKPOINT
  fairseq-generate "$work/data" --user-dir "$root/lev_plugins" --task translation_edit "${languages[@]}" --path "$2" \
    --iter-decode-max-iter 10 --print-step --batch-size 64 ${text[@]+"${text[@]}"} \
    >"$work/generate.$1.txt" 2>"$work/generate.$1.log" ||
    fail "fairseq-generate failed: $(tail -n 1 "$work/generate.$1.log") ($work/generate.$1.log)"
}
generate zero-shot "${recipe[-1]}" # the file that CHECKPOINT stands for
logged "$work/train.log" fairseq-train "$work/data" --user-dir "$root/lev_plugins" "${recipe[@]}" "${languages[@]}" \
  --label-smoothing 0.1 --skip-invalid-size-inputs-valid-test --optimizer adam --adam-betas '(0.9, 0.98)' \
  --clip-norm 1.0 --lr 0.0005 "${length[@]}" --max-tokens 2000 --seed "$SEED" --save-dir "$work/finetuned" \
  --no-epoch-checkpoints ${FLAGS:-}
generate finetuned "$work/finetuned/checkpoint_last.pt"
python -m lev_plugins report "$work"/generate.{zero-shot,finetuned}.txt --names zero-shot,finetuned \
  --drafts "$work/text/test.mt" --references "$work/text/test.pe" --metrics bleu,ter_normalized,accuracy \
  --json "$work/report.json"

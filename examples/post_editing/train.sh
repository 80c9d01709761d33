#!/usr/bin/env bash
# Trains a small post-editor on a CPU, on what prepare.sh made:
#
#     bash examples/post_editing/train.sh WORK [fairseq-train's flags …]
#     UPDATES=20000 SEED=2 bash examples/post_editing/train.sh WORK --max-tokens 4000
#
# UPDATES (300) is the length of the training: the learning rate falls to zero just then. Flags given
# here come last and win. WORK/checkpoints gets the checkpoints; a second call resumes from there.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
updates="${UPDATES:-300}"
seed="${SEED:-1}"

[ $# -ge 1 ] || fail "a folder is needed: bash examples/post_editing/train.sh WORK [flags …]"
[ -d "$1" ] || fail "no folder $1: bash examples/post_editing/prepare.sh DATA $1 makes it"
work="$(cd "$1" && pwd)"
shift
[ -d "$work/data" ] || fail "no data in $work: bash examples/post_editing/prepare.sh DATA $work makes them"
[[ "$updates" =~ ^[1-9][0-9]*$ ]] || fail "UPDATES=$updates: give a number of updates"
[[ "$seed" =~ ^[0-9]+$ ]] || fail "SEED=$seed: give a whole number"

exec fairseq-train "$work/data" \
  --user-dir "$root/lev_plugins" --task translation_edit \
  --source-lang src --target-lang pe --draft-lang mt --alpha 0.5 --beta 0.5 \
  --bpe sentencepiece --sentencepiece-model "$work/spm.model" \
  --arch levenshtein_editor_small --share-all-embeddings --dropout 0.1 \
  --max-source-positions 256 --max-target-positions 256 \
  --criterion edit_policy_loss --label-smoothing 0.1 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
  --lr 0.001 --lr-scheduler polynomial_decay --warmup-updates "$((updates / 10 + 1))" \
  --total-num-update "$updates" --max-update "$updates" \
  --max-tokens 2000 --seed "$seed" --cpu \
  --save-dir "$work/checkpoints" --no-epoch-checkpoints \
  --skip-invalid-size-inputs-valid-test \
  --log-format simple --log-interval 20 "$@"

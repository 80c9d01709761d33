#!/usr/bin/env bash
# Trains a model that repairs fuzzy matches, on what prepare.py made:
#
#     bash examples/translation_memory/train.sh WORK [fairseq-train's flags …]
#     MINUTES=60 SEED=2 bash examples/translation_memory/train.sh WORK concat
#
# A translation model learns for 30 % of the time, from sources with their change marked; LevT starts from it and learns
# to edit drafts. With `concat` it is the autoregressive baseline, which reads source and draft; it starts from fairseq's
# own translation model of the same minutes. MINUTES (60) are the processor's, not the clock's: the learning rate falls
# to zero just then. WORK/translation and model, or WORK/transformer and concat, get the checkpoints; a second call goes
# on from there. Flags given here come last and win: `--dropout 0.1` where the data are small, or the minutes many (five
# passes over the data are too few for any).
set -euo pipefail
unset CDPATH
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

work="${1:-}" minutes="${MINUTES:-60}"
[ -d "$work/data" ] || fail "no data in '$work': see examples/translation_memory/prepare.py"
work="$(cd "$work" && pwd)"
[[ "$minutes" =~ ^[0-9]+(\.[0-9]+)?$ ]] || fail "MINUTES=$minutes: give a number"
shift
way=model
[ "${1:-}" != concat ] || { way=concat && shift; }
flags=("$@") optimizer=(--optimizer muon --muon-update-rms 0.4)
case " $* " in *" --optimizer "*) optimizer=() ;; esac # another one knows no --muon-update-rms

both_sides 128 2

stage() { # stage FOLDER DATA SHARE FLAGS…: a training of SHARE of the minutes
  local saved="$work/$1" data="$work/$2" hours
  hours="$(awk "BEGIN { print $3 * $minutes / 60 }")"
  shift 3
  fairseq-train "$data" --user-dir "$root/lev_plugins" --source-lang src --target-lang tgt "$@" \
    --share-all-embeddings --dropout 0 --bpe sentencepiece --sentencepiece-model "$work/spm.model" \
    --max-source-positions 512 --max-target-positions 512 --skip-invalid-size-inputs-valid-test \
    ${optimizer[@]+"${optimizer[@]}"} --lr 0.004 --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --bf16 \
    --lr-scheduler time_budget --processor-time --stop-time-hours "$hours" --max-tokens 2600 --seed "${SEED:-1}" \
    --save-dir "$saved" --no-epoch-checkpoints --disable-validation --log-format simple --log-interval 100 \
    ${flags[@]+"${flags[@]}"}
}

smoothed=(--criterion label_smoothed_cross_entropy --label-smoothing 0.1)
drafts=(--draft-lang draft --old-source "${sizes[@]}")
if [ "$way" = concat ]; then
  stage transformer all 0.3 --task translation --arch transformer "${sizes[@]}" "${smoothed[@]}"
  stage concat data 0.7 "${drafts[@]}" --task translation_concat --arch transformer_concat "${smoothed[@]}" \
    --finetune-from-model "$work/transformer/checkpoint_last.pt"
  exit
fi
# from left to right, in blocks like LevT's, with rotary positions, which fairseq's own does not have
stage translation all 0.3 --task translation --arch pbd_transformer "${sizes[@]:0:9}" "${smoothed[@]}" \
  --no-parameter-sharing --no-future-modelling --rotary-positions
stage model data 0.7 "${drafts[@]}" --finetune-from-model "$work/translation/checkpoint_last.pt" \
  --task translation_edit --arch levenshtein_editor --rotary-positions \
  --criterion edit_policy_loss --label-smoothing 0 --placeholder-weight 2 --token-weight 2 \
  --deletion-trace --source-pointer --delete-words --kept-tokens incomplete --token-masking uniform --max-insertions 63 \
  --alpha-start 0.3 --alpha 0.8 --beta-start 0.3 --beta 0.8 --roll-in-updates 0.5

#!/usr/bin/env bash
# Tables of all noisy test sets: no edits, and the models of train.sh, by beam search.
#
#     bash examples/denoising/evaluate.sh WORK [--lexicon WORDS] [SYSTEM …]
#
# SYSTEMs are folders of WORK (all that have a checkpoint; without any, baselines only). With --lexicon, words with or without counts, each model
# also runs in `lev-correct --lexicon`, which leaves the lexicon's words alone, and symspellpy has the same words.
# BEAM is 4. The noisy text alone reaches a model. A test set is all four kinds of noise on the test text, and again on
# the text of ELSEWHERE where prepare.sh was given one. WORK/output gets the text, line n for line n, as SYSTEM.SET, and
# the numbers as SET.json.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash $here WORK [--lexicon WORDS] [SYSTEM …]"
prepared "$1" data denoising/prepare.sh
shift
lexicon="" beam="${BEAM:-4}"
given_lexicon "$@" && shift "$shifted"
whole BEAM "$beam" hypotheses
trained last "denoising/train.sh $work none" "$@"

out="$work/output"
mkdir -p "$out"
for set in test test-elsewhere; do
  ls "$work/data/$set"{,-random,-keyboard,-swap,-delete}.noisy >"$out/$set.files" 2>/dev/null || true
  [ -s "$out/$set.files" ] || continue
  for side in noisy clean; do sed "s/noisy\$/$side/" "$out/$set.files" | tr '\n' '\0' | xargs -0 cat >"$out/$set.$side"; done
  systems=() files=()
  [ -z "$lexicon" ] || {
    python "$root/examples/spelling_and_ocr/symspell.py" "$lexicon" <"$out/$set.noisy" >"$out/symspellpy.$set"
    systems+=(symspellpy) files+=("$out/symspellpy.$set")
  }
  for system in "${chosen[@]}"; do
    checkpoint="$work/$system/checkpoint_last.pt"
    fairseq-interactive "$work/data" --user-dir "$root/lev_plugins" --task noisy_translation --path "$checkpoint" \
      --source-lang noisy --target-lang clean --bpe characters --beam "$beam" --max-len-a 1.5 --max-len-b 10 \
      --buffer-size 2000 --max-tokens 4000 --input "$out/$set.noisy" 2>"$out/log" |
      grep -a '^D-' | sed 's/^D-//' | sort -n | cut -f 3- >"$out/$system.$set" || fail "decoding failed: see $out/log"
    systems+=("$system") files+=("$out/$system.$set")
    [ -z "$lexicon" ] || {
      lev-correct --path "$checkpoint" --data "$work/data" --bpe characters --beam "$beam" --settings none \
        --lexicon "$lexicon" "$out/$set.noisy" >"$out/$system+lexicon.$set"
      systems+=("$system+lexicon") files+=("$out/$system+lexicon.$set")
    }
  done
  [ ${#files[@]} -gt 0 ] || { systems=(no-edits) files=("$out/$set.noisy"); }
  echo "== $set: $(wc -w <"$out/$set.clean") words"
  python -m lev_plugins report --hypotheses "${files[@]}" --names "$(IFS=, && echo "${systems[*]}")" \
    --drafts "$out/$set.noisy" --references "$out/$set.clean" \
    --metrics wrr,cer,correction_recall,miscorrection_rate --json "$out/$set.json"
done

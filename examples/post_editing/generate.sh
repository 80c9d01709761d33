#!/usr/bin/env bash
# Post-edits the test drafts and scores them beside the drafts themselves:
#
#     bash examples/post_editing/generate.sh WORK [fairseq-generate's flags …]
#     CHECKPOINT=my.pt bash examples/post_editing/generate.sh WORK --iter-decode-eos-penalty 1
#
# WORK/generate.bleu.txt and WORK/generate.ter.txt get what fairseq-generate prints with --scoring
# sacrebleu and ter. The table at the end scores drafts and outputs against WORK/text/test.pe.
set -euo pipefail
unset CDPATH

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -ge 1 ] || fail "a folder is needed: bash examples/post_editing/generate.sh WORK [flags …]"
[ -d "$1" ] || fail "no folder $1: bash examples/post_editing/prepare.sh DATA $1 makes it"
work="$(cd "$1" && pwd)"
shift
checkpoint="${CHECKPOINT:-$work/checkpoints/checkpoint_last.pt}"
[ -d "$work/data" ] || fail "no data in $work: bash examples/post_editing/prepare.sh DATA $work makes them"
[ -f "$checkpoint" ] || fail "no checkpoint $checkpoint: bash examples/post_editing/train.sh $work makes one"

generate() { # generate NAME FLAGS…
  local out="$work/generate.$1.txt"
  shift
  fairseq-generate "$work/data" \
    --user-dir "$root/lev_plugins" --task translation_edit \
    --source-lang src --target-lang pe --draft-lang mt \
    --max-source-positions 256 --max-target-positions 256 --skip-invalid-size-inputs-valid-test \
    --path "$checkpoint" --gen-subset test --batch-size 64 \
    --bpe sentencepiece --sentencepiece-model "$work/spm.model" \
    --iter-decode-max-iter 10 --print-step "$@" >"$out" ||
    fail "fairseq-generate failed: see above and $out"
  grep "^Generate" "$out" || fail "fairseq-generate gave no score: see $out"
}

generate bleu --scoring sacrebleu "$@"
generate ter --scoring ter --ter-normalized --ter-case-sensitive "$@"

python - "$work" <<'PY'
import sys

from sacrebleu.metrics import BLEU, TER

work = sys.argv[1]

def lines(name: str) -> list[str]:
    with open(f"{work}/text/test.{name}", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n").strip() for line in file]

drafts, references = lines("mt"), lines("pe")
outputs, steps = {}, {}
with open(f"{work}/generate.bleu.txt", encoding="utf-8", newline="\n") as file:
    for line in file:
        kind, *fields = line.rstrip("\n").split("\t")
        if kind.startswith("D-"):
            outputs[int(kind[2:])] = fields[1]
        elif kind.startswith("I-"):
            steps[int(kind[2:])] = int(fields[0])
chosen = sorted(outputs)
if not chosen:
    sys.exit("error: fairseq-generate wrote no output")
references = [references[i] for i in chosen]
systems = {
    "doing nothing": [drafts[i] for i in chosen],
    "post-edited": [outputs[i] for i in chosen],
}
bleu, ter = BLEU(force=True), TER(normalized=True, case_sensitive=True)
print(f"{len(chosen)} sentences{'BLEU':>14}{'TER':>9}{'exact':>10}{'as drafted':>13}")
for name, texts in systems.items():
    exact = sum(a == b for a, b in zip(texts, references)) / len(chosen)
    same = sum(a == b for a, b in zip(texts, systems["doing nothing"])) / len(chosen)
    scores = (bleu.corpus_score(texts, [references]), ter.corpus_score(texts, [references]))
    print(f"{name:18}{scores[0].score:>9.2f}{scores[1].score:>9.2f}{exact:>10.1%}{same:>13.1%}")
print(f"{sum(steps.values()) / len(steps):.2f} iterations on average")
print(bleu.get_signature(), ter.get_signature(), sep="\n")
PY

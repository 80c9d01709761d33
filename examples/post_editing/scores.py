"""Score post-edited text beside the drafts as they came.

    python examples/post_editing/scores.py DRAFTS REFERENCES GENERATE_OUTPUT

The first two are text; the third is what fairseq-generate printed. Sentences that it left out are
left out of both rows. BLEU and TER (normalised, case-sensitive) are sacrebleu's.
"""

import sys

from sacrebleu.metrics import BLEU, TER


def read(path: str) -> list[str]:
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def main() -> None:
    drafts, references = ([line.strip() for line in read(path)] for path in sys.argv[1:3])
    outputs, steps = {}, {}
    for line in read(sys.argv[3]):
        kind, *fields = line.split("\t")
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
    if steps:
        print(f"{sum(steps.values()) / len(steps):.2f} iterations on average")
    print(bleu.get_signature(), ter.get_signature(), sep="\n")


if __name__ == "__main__":
    main()

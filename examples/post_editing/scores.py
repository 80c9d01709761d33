"""Score post-edited text beside the drafts as they came.

    python examples/post_editing/scores.py DRAFTS REFERENCES GENERATE_OUTPUT

The first two are text; the third is what fairseq-generate printed. Sentences that it left out are
left out of both rows. BLEU and TER (normalised, case-sensitive) are sacrebleu's.

fairseq-generate itself scores against its T- lines, the references as the dictionary holds them: a
symbol that it lacks is <<unk>> there, of which a written <unk> is half right. Where that makes a
difference, a row more has its scores.
"""

import sys

from sacrebleu.metrics import BLEU, TER


def read(path: str) -> list[str]:
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def main() -> None:
    drafts, references = ([line.strip() for line in read(path)] for path in sys.argv[1:3])
    outputs, steps, binarised = {}, {}, {}
    for line in read(sys.argv[3]):
        kind, *fields = line.split("\t")
        if kind.startswith("D-"):
            outputs[int(kind[2:])] = fields[1]
        elif kind.startswith("T-"):
            binarised[int(kind[2:])] = fields[0]
        elif kind.startswith("I-"):
            steps[int(kind[2:])] = int(fields[0])
    chosen = sorted(outputs)
    if not chosen:
        sys.exit("error: fairseq-generate wrote no output")
    written, before, right = ([side[i] for i in chosen] for side in (outputs, drafts, references))
    rows = [("no-edit baseline", before, right), ("post-edited", written, right)]
    known = [binarised.get(i, reference) for i, reference in zip(chosen, right)]
    others = sum(one.strip() != reference for one, reference in zip(known, right))
    if others:
        rows.append(("by fairseq", written, known))
    bleu, ter = BLEU(force=True), TER(normalized=True, case_sensitive=True)
    print(f"{len(chosen)} sentences{'BLEU':>14}{'TER':>9}{'exact':>10}{'as drafted':>13}")
    for name, texts, expected in rows:
        exact = sum(a == b for a, b in zip(texts, expected)) / len(chosen)
        same = sum(a == b for a, b in zip(texts, before)) / len(chosen)
        scores = [metric.corpus_score(texts, [expected]).score for metric in (bleu, ter)]
        print(f"{name:18}{scores[0]:>9.2f}{scores[1]:>9.2f}{exact:>10.1%}{same:>13.1%}")
    if others:
        print(f"by fairseq: {others} references have symbols that the dictionary lacks (<<unk>>)")
    if steps:
        print(f"{sum(steps.values()) / len(steps):.2f} iterations on average")
    print(bleu.get_signature(), ter.get_signature(), sep="\n")


if __name__ == "__main__":
    main()

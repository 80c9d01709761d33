"""Score post-edited text beside the drafts as they came.

    python examples/post_editing/scores.py DRAFTS REFERENCES OUTPUT [JSON]

The first two are text; the third is what fairseq-generate printed; JSON gets the numbers. Sentences
that it left out are left out of both rows. BLEU and TER (normalised, case-sensitive) are
sacrebleu's.

fairseq-generate itself scores against its T- lines, the references as the dictionary holds them: a
symbol that it lacks is <<unk>> there, of which a written <unk> is half right. Where that makes a
difference, a row more has its scores.
"""

import argparse
import json
import sys

from sacrebleu.metrics import BLEU, TER

METRICS = {"bleu": BLEU(force=True), "ter": TER(normalized=True, case_sensitive=True)}


def read(path: str) -> list[str]:
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def generated(path: str) -> tuple[dict[int, str], dict[int, str], dict[int, int]]:
    """Outputs, references and iterations by the number of the sentence."""
    outputs, binarised, steps = {}, {}, {}
    for line in read(path):
        kind, *fields = line.split("\t")
        if kind.startswith("D-"):
            outputs[int(kind[2:])] = fields[1]
        elif kind.startswith("T-"):
            binarised[int(kind[2:])] = fields[0]
        elif kind.startswith("I-"):
            steps[int(kind[2:])] = int(fields[0])
    return outputs, binarised, steps


def scores(texts: list[str], expected: list[str], drafts: list[str]) -> dict[str, float]:
    """BLEU and TER, and the texts in percent that are exact and that are as drafted."""
    found = {name: metric.corpus_score(texts, [expected]).score for name, metric in METRICS.items()}
    for name, others in (("exact", expected), ("as_drafted", drafts)):
        found[name] = 100 * sum(a == b for a, b in zip(texts, others)) / len(texts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Score post-edited text beside the drafts as they came."
    )
    for name, what in (("drafts", "text"), ("references", "text"), ("output", "of generate")):
        parser.add_argument(name, metavar=name.upper(), help=what)
    parser.add_argument("json", metavar="JSON", nargs="?", help="file that gets the numbers")
    args = parser.parse_args()
    drafts, references = (
        [line.strip() for line in read(path)] for path in (args.drafts, args.references)
    )
    outputs, binarised, steps = generated(args.output)
    chosen = sorted(outputs)
    if not chosen:
        sys.exit("error: fairseq-generate wrote no output")
    written, before, right = ([side[i] for i in chosen] for side in (outputs, drafts, references))
    rows = [("no-edit baseline", before, right), ("post-edited", written, right)]
    known = [binarised.get(i, reference) for i, reference in zip(chosen, right)]
    others = sum(one.strip() != reference for one, reference in zip(known, right))
    if others:
        rows.append(("by fairseq", written, known))
    systems = {name: scores(texts, expected, before) for name, texts, expected in rows}
    print(f"{len(chosen)} sentences{'BLEU':>14}{'TER':>9}{'exact':>10}{'as drafted':>13}")
    for name, one in systems.items():
        print(
            f"{name:18}{one['bleu']:>9.2f}{one['ter']:>9.2f}{one['exact']:>9.1f}%"
            f"{one['as_drafted']:>12.1f}%"
        )
    if others:
        print(f"by fairseq: {others} references have symbols that the dictionary lacks (<<unk>>)")
    if steps:
        print(f"{sum(steps.values()) / len(steps):.2f} iterations on average")
    print(*(metric.get_signature() for metric in METRICS.values()), sep="\n")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"systems": systems}, file, indent=1)


if __name__ == "__main__":
    main()

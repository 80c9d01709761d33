"""Keep a post-edited sentence only where the development set says that it pays.

    python examples/post_editing/careful.py TEXT DEV_OUTPUT TEST_OUTPUT WRITTEN

TEXT has dev.mt, dev.pe, test.mt and test.pe; the outputs are what fairseq-generate printed; WRITTEN
gets the test sentences. A sentence is kept as post-edited if the model's score is at least τ and at
most κ words were edited; else the draft stays. τ and κ are those with the fewest edits of TER on
the development set. All drafts stay unless the gain is above 0 in 95 % of its bootstrap samples,
corrected for the number of rules that were tried (Bonferroni): the best of many is good by chance.
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.text_files import read_lines
from lev_plugins.metrics.corpus import add_up, bleu, ter

STEPS, EDITS = 20, (1, 2, 3, 5, 1_000_000)
SAMPLES, CHANCE = 1000, 0.05
TER = ter(normalized=True, case_sensitive=True)
BLEU = bleu()


@dataclass(frozen=True)
class Sentence:
    """A draft, what the model made of it with its score, and the reference.

    size: words edited. gain: edits of TER that the draft needs above those that the output needs.
    """

    draft: str
    output: str
    score: float
    reference: str
    size: float
    gain: float


@dataclass(frozen=True)
class Rule:
    """Keep outputs with at least this score and at most so many words edited; (∞, 0): none."""

    score: float = float("inf")
    edits: int = 0

    def keeps(self, one: Sentence) -> bool:
        """Whether the output of a sentence is kept."""
        return one.draft == one.output or one.score >= self.score and one.size <= self.edits


def main() -> None:
    """Choose on dev, apply to test, print both."""
    if len(sys.argv) != 5:
        raise UserError("four paths are needed: careful.py TEXT DEV_OUTPUT TEST_OUTPUT WRITTEN")
    text, dev_file, test_file, written = sys.argv[1:]
    dev = sentences(Path(text), "dev", dev_file)
    test = sentences(Path(text), "test", test_file)
    rule, share = choose(dev)
    if rule.edits:
        least = f"score >= {rule.score:.3f}"
        most = f"at most {rule.edits} words edited" if rule.edits < EDITS[-1] else "any size"
        print(f"kept: {least}, {most} (better in {share:.1%} of {SAMPLES} samples of dev)")
    else:
        print(
            f"all drafts stay: the best rule is better in {share:.1%} of {SAMPLES} samples of dev"
        )
    for part, some in (("dev", dev), ("test", test)):
        report(part, some, rule)
    lines = (one.output if rule.keeps(one) else one.draft for one in test)
    Path(written).write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def sentences(text: Path, part: str, output: str) -> list[Sentence]:
    """All sentences of a part; those that fairseq-generate left out keep their drafts.

    Raises:
        UserError: it wrote no output.
    """
    made: dict[int, tuple[str, float]] = {}
    for line in read_lines(output):
        kind, *fields = line.split("\t")
        if kind.startswith("D-"):
            made[int(kind[2:])] = fields[1].strip(), float(fields[0])
    if not made:
        raise UserError(f"{output}: fairseq-generate wrote no output")
    found = []
    sides = (read_lines(str(text / f"{part}.{side}")) for side in ("mt", "pe"))
    for i, (draft, reference) in enumerate(zip(*map(list, sides), strict=True)):
        draft, reference = draft.strip(), reference.strip()
        new, score = made.get(i, (draft, 0.0))
        size = TER.statistics(new, draft)[0]
        needed = [TER.statistics(one, reference)[0] for one in (draft, new)]
        found.append(Sentence(draft, new, score, reference, size, needed[0] - needed[1]))
    return found


def choose(dev: Sequence[Sentence]) -> tuple[Rule, float]:
    """The rule with the highest gain on dev, and the share of bootstrap samples in which it has
    one; the rule that keeps nothing where that is too small."""
    changed = sorted(one.score for one in dev if one.draft != one.output)
    steps = sorted({changed[len(changed) * k // STEPS] for k in range(STEPS)}) if changed else []
    rules = [Rule(score, edits) for score in steps for edits in EDITS]
    best = max(rules, key=lambda rule: _gain(dev, rule), default=Rule())
    gains = [one.gain if best.keeps(one) else 0.0 for one in dev]
    rng = random.Random(1)
    share = sum(sum(rng.choices(gains, k=len(gains))) > 0 for _ in range(SAMPLES)) / SAMPLES
    return (best if share >= 1 - CHANCE / max(len(rules), 1) else Rule()), share


def _gain(some: Sequence[Sentence], rule: Rule) -> float:
    return sum(one.gain for one in some if rule.keeps(one))


def report(part: str, some: Sequence[Sentence], rule: Rule) -> None:
    """Prints BLEU, TER and how many drafts stay: without edits, with all, and by the rule."""
    print(f"{part + ':':5} {len(some)} sentences{'BLEU':>9}{'TER':>9}{'as drafted':>13}")
    rows = [("no edits", Rule()), ("all edits", Rule(-float("inf"), EDITS[-1])), ("careful", rule)]
    for name, one in rows:
        texts = [each.output if one.keeps(each) else each.draft for each in some]
        pairs = [(text, each.reference) for text, each in zip(texts, some, strict=True)]
        scores = [
            metric.score(add_up(metric, (metric.statistics(*pair) for pair in pairs)))
            for metric in (BLEU, TER)
        ]
        same = sum(text == each.draft for text, each in zip(texts, some, strict=True)) / len(some)
        print(f"{name:18}{scores[0]:>11.2f}{scores[1]:>9.2f}{same:>13.1%}")


if __name__ == "__main__":
    sys.exit(run_cli(main))

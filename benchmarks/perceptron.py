"""An averaged perceptron that tags words (Collins, 2002): what plain Python reaches.

    python benchmarks/perceptron.py WORK [--epochs 5] [--seed 1]

WORK is of ``examples/classification/prepare.sh tagging``; its ``text/train.tsv`` is learnt from.
The tags of the test words go to WORK/output/perceptron.jsonl, for evaluate.py there. Sentences are
tagged from left to right; a word's tag is the one with the highest sum of the weights of its
features.
"""

import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_lines

Weights = defaultdict[str, dict[str, float]]
#: what stands beside the first and the last word, and before the first tag
EDGE = "–"


def read(path: Path) -> list[tuple[list[str], list[str]]]:
    """Returns words and tags of each sentence."""
    cells = [line.split("\t", 1) for line in read_lines(str(path))]
    return [(words.split(), tags.split()) for tags, words in cells]


def features(words: Sequence[str], place: int, tag: str, tag_before: str) -> Iterator[str]:
    """Yields what is known of the word at a place: itself, two neighbours a side, two tags."""
    padded = [EDGE, EDGE, *map(str.lower, words), EDGE, EDGE]
    word, here = words[place], place + 2
    yield "any"
    for distance in range(-2, 3):
        yield f"{distance} {padded[here + distance]}"
    for distance in (-1, 0, 1):
        yield f"{distance} ends {padded[here + distance][-3:]}"
    yield f"ends {padded[here][-2:]}"
    yield f"begins {padded[here][:1]}"
    yield f"tag {tag}"
    yield f"tag before {tag_before}"
    yield f"tags {tag} {tag_before}"
    yield f"tag {tag} {padded[here]}"
    has_digit = any(map(str.isdigit, word))
    yield f"shape {word[:1].isupper()} {word.isupper()} {has_digit} {'-' in word}"
    yield f"capital {word[:1].isupper()} {place == 0}"


class Tagger:
    """Weights of features and tags; each word that gets a wrong tag changes them by one.

    The weights that tag in the end are the means over all words ``seen``: a change counts for less
    the later it came. ``late`` has each change times the words before it.
    """

    def __init__(self, tags: Sequence[str]) -> None:
        self.tags = tags
        self.weights: Weights = defaultdict(dict)
        self.late: Weights = defaultdict(dict)
        self.seen = 0

    def best(self, known: Sequence[str]) -> str:
        """Returns the tag with the highest sum of weights."""
        scores = dict.fromkeys(self.tags, 0.0)
        for feature in known:
            for tag, weight in self.weights.get(feature, {}).items():
                scores[tag] += weight
        return max(self.tags, key=scores.__getitem__)

    def tagged(self, words: Sequence[str], truth: Sequence[str] | None = None) -> list[str]:
        """Returns the tags of a sentence; learns from the right ones if they are given."""
        said = [EDGE, EDGE]
        for place in range(len(words)):
            known = list(features(words, place, said[-1], said[-2]))
            said.append(self.best(known))
            if truth is not None:
                self.learn(known, said[-1], truth[place])
        return said[2:]

    def learn(self, known: Sequence[str], said: str, right: str) -> None:
        """Takes one word in."""
        changes = {said: -1.0, right: 1.0} if said != right else {}
        for feature in known:
            weights, late = self.weights[feature], self.late[feature]
            for tag, change in changes.items():
                weights[tag] = weights.get(tag, 0.0) + change
                late[tag] = late.get(tag, 0.0) + change * self.seen
        self.seen += 1

    def average(self) -> None:
        """Puts the means over all words in the place of the last weights."""
        for feature, weights in self.weights.items():
            for tag in weights:
                weights[tag] -= self.late[feature][tag] / self.seen


def main() -> None:
    """Learns, tags the test words and says how long learning took."""
    parser = Parser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder of prepare.sh")
    parser.add_argument("--epochs", type=int, default=5, help="passes over the text (default: 5)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the order of the sentences (default: 1)"
    )
    args = parser.parse_args()
    train, test = (read(args.work / "text" / f"{part}.tsv") for part in ("train", "test"))
    rng = random.Random(args.seed)
    start = time.process_time()
    tagger = Tagger(sorted({tag for _, tags in train for tag in tags}))
    for _ in range(args.epochs):
        rng.shuffle(train)
        for words, tags in train:
            tagger.tagged(words, tags)
    tagger.average()
    print(f"CPU seconds: {time.process_time() - start:.1f}")
    lines = [json.dumps({"tags": tagger.tagged(words)}) for words, _ in test]
    output = args.work / "output"
    output.mkdir(exist_ok=True)
    (output / "perceptron.jsonl").write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    run_cli(main)

"""Scores of tags, of labels and of classes, in percent, and what needs no training.

Counted here by hand, from what a command wrote; the metrics that training shows come from
:mod:`lev_plugins.systems.enct5.metrics`.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from math import sqrt

from texts import Example

Scores = dict[str, float]


def percent(part: float, whole: float) -> float:
    """0 of nothing."""
    return 100 * part / whole if whole else 0.0


# ---------------------------------------------------------------- scores


def tag_scores(
    found: Sequence[Sequence[str]], wanted: Sequence[Example], known: Collection[str]
) -> Scores:
    """Words right: all, those of the training text, and others; and sentences all right.

    Args:
        known: words of the training text.
    """
    right, counts = Counter[bool](), Counter[bool]()
    sentences = 0
    for tags, one in zip(found, wanted, strict=True):
        sentences += list(tags) == one.labels
        for word, tag, label in zip(one.words, tags, one.labels, strict=True):
            counts[word in known] += 1
            right[word in known] += tag == label
    return {
        "word accuracy": percent(right.total(), counts.total()),
        "known words": percent(right[True], counts[True]),
        "unknown words": percent(right[False], counts[False]),
        "sentences right": percent(sentences, len(wanted)),
    }


def label_scores(found: Sequence[Collection[str]], wanted: Sequence[Example]) -> Scores:
    """F1 over all decisions, mean of the labels' F1, and texts whose labels are all right.

    A label that neither is there nor was said has no F1; the mean is of the others.
    """
    both, said, true = Counter[str](), Counter[str](), Counter[str]()
    exact = 0
    for labels, one in zip(found, wanted, strict=True):
        chosen, right = set(labels), set(one.labels)
        both.update(chosen & right)
        said.update(chosen)
        true.update(right)
        exact += chosen == right
    each = [percent(2 * both[name], said[name] + true[name]) for name in said | true]
    return {
        "micro-F1": percent(2 * both.total(), said.total() + true.total()),
        "macro-F1": sum(each) / len(each) if each else 0.0,
        "texts right": percent(exact, len(wanted)),
    }


def class_scores(found: Sequence[str], wanted: Sequence[Example]) -> Scores:
    """Accuracy, and Matthews' correlation for any number of classes (Gorodkin, 2004)."""
    truth = [one.labels[0] for one in wanted]
    total, right = len(truth), sum(a == b for a, b in zip(found, truth, strict=True))
    said, true = Counter(found), Counter(truth)
    across = right * total - sum(said[name] * true[name] for name in true)
    spreads = [total**2 - sum(count**2 for count in one.values()) for one in (said, true)]
    spread = sqrt(spreads[0] * spreads[1])
    return {
        "accuracy": percent(right, total),
        "Matthews": 100 * across / spread if spread else 0.0,
    }


# ---------------------------------------------------------------- without training


def most_frequent(examples: Sequence[Example]) -> str:
    """The label that is there most often; of equals the first."""
    return Counter(label for one in examples for label in one.labels).most_common(1)[0][0]


class FrequentTags:
    """Each word's most frequent tag in the training text, of equals the first.

    Args:
        examples: of the training text.
        capitals: whether a new word gets the tag that is most frequent among words which occur
            once and begin as it does, with a capital letter or without; else the most frequent
            tag of all.
    """

    def __init__(self, examples: Sequence[Example], capitals: bool = False) -> None:
        seen: dict[str, Counter[str]] = {}
        for one in examples:
            for word, tag in zip(one.words, one.labels, strict=True):
                seen.setdefault(word, Counter())[tag] += 1
        self.table = {word: tags.most_common(1)[0][0] for word, tags in seen.items()}
        self.usual = most_frequent(examples)
        self.new: dict[bool, str] = {}
        if capitals:
            once = [word for word, tags in seen.items() if tags.total() == 1]
            for begins in (True, False):
                alike = Counter(self.table[word] for word in once if word[0].isupper() == begins)
                self.new[begins] = alike.most_common(1)[0][0] if alike else self.usual

    def __call__(self, words: Sequence[str]) -> list[str]:
        """A tag a word."""
        return [self.table.get(word, self.new.get(word[0].isupper(), self.usual)) for word in words]

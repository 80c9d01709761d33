"""The look-up table: what a corrector has to beat besides the no-edit baseline.

A word becomes the clean word that it stood for most often in the training text; a word that did not
occur there stays as it is.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ocr_scores import aligned


def learn(noisy: Sequence[str], clean: Sequence[str]) -> dict[str, str]:
    """The table of aligned lines; of equally frequent clean words the one that came first."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for before, after in zip(noisy, clean, strict=True):
        words, wanted = before.split(), after.split()
        for i, j in aligned(words, wanted):
            seen[words[i]][wanted[j]] += 1
    return {word: counts.most_common(1)[0][0] for word, counts in seen.items()}


def correct(table: dict[str, str], line: str) -> str:
    """A line with every word looked up; its spaces stay."""
    return " ".join(table.get(word, word) for word in line.split(" "))

"""What noise did to a text: lines, words and characters that changed."""

from collections import Counter

from rapidfuzz.distance import Levenshtein

_FEW = 64  # changes; the hint makes long lines quick, such as a text without spaces


class Counts:
    """What was done to a text: of words and characters (without spaces) by edit distance."""

    def __init__(self) -> None:
        self.all, self.changed = Counter[str](), Counter[str]()

    def add(self, clean: str, noisy: str) -> None:
        """Counts a line."""
        before, after = clean.split(), noisy.split()
        sides = (("words", before, after), ("characters", "".join(before), "".join(after)))
        self.all.update(lines=1, **{what: len(one) for what, one, _ in sides})
        if clean != noisy:
            edits = {what: Levenshtein.distance(*pair, score_hint=_FEW) for what, *pair in sides}
            self.changed.update(lines=1, **edits)

    def __str__(self) -> str:
        shares = (
            f"{what} {self.changed[what]:,} of {whole:,} "
            f"({100 * self.changed[what] / max(whole, 1):.2f} %)"
            for what, whole in self.all.items()
        )
        return f"changed: {', '.join(shares)}"

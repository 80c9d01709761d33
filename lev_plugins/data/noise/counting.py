"""What noise did to a text: lines, words and characters that changed."""

from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from .clusters import clusters, split_words

_FEW = 64  # changes; the hint makes long words quick, such as a text without spaces


@dataclass
class Counts:
    """What was done to a text; characters are counted without spaces, grapheme by grapheme."""

    lines: int = 0
    changed_lines: int = 0
    words: int = 0
    changed_words: int = 0
    characters: int = 0
    changed_characters: int = 0

    def add(self, clean: str, noisy: str) -> None:
        """Count a line; of a changed word, the edits between the two versions."""
        self.lines += 1
        self.changed_lines += clean != noisy
        # noise neither cuts nor joins words
        for one, other in zip(split_words(clean)[::2], split_words(noisy)[::2], strict=True):
            before = clusters(one)
            self.words += bool(one)
            self.characters += len(before)
            if one != other:
                self.changed_words += 1
                after = clusters(other)
                self.changed_characters += Levenshtein.distance(before, after, score_hint=_FEW)


def summarise(counts: Counts) -> str:
    """What was changed, in one line."""

    def share(part: int, whole: int) -> str:
        return f"{part:,} of {whole:,} ({100 * part / max(whole, 1):.2f} %)"

    return (
        f"changed: lines {share(counts.changed_lines, counts.lines)}, words "
        f"{share(counts.changed_words, counts.words)}, characters "
        f"{share(counts.changed_characters, counts.characters)}"
    )

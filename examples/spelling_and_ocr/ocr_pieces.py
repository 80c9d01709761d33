"""Lines in segments of a few words: short segments are learnt in far fewer updates than whole
lines.

In training a segment of the noisy line has to go with its segment of the clean line, so that lines
are cut only between words that belong together on both sides. Later there is no clean line: a noisy
line is cut after every so many words, corrected segment by segment, and joined again.
"""

from collections.abc import Sequence

from ocr_scores import aligned


def pieces(line: str, words: int) -> list[str]:
    """A line cut after every ``words`` words; 0 leaves it whole. With spaces between them the
    segments are the line again."""
    if not words:
        return [line]
    found = line.split(" ")
    return [" ".join(found[i : i + words]) for i in range(0, len(found), words)]


def joined(corrected: Sequence[str]) -> str:
    """The line that corrected segments make; a segment that became empty leaves no space."""
    return corrected[0] if len(corrected) == 1 else " ".join(piece for piece in corrected if piece)


def paired_pieces(noisy: str, clean: str, words: int) -> list[tuple[str, str]]:
    """Pieces of at least ``words`` noisy words with the clean words that belong to them.

    A cut lies where the words on both its sides are aligned with neighbours on the clean side, so
    that no word is torn from what it was split from or run together with.
    """
    if not words:
        return [(noisy, clean)]
    before, after = noisy.split(" "), clean.split(" ")
    partner = dict(aligned(before, after))
    cuts = [(0, 0)]
    for i in range(1, len(before)):
        j = partner.get(i)
        if j is not None and partner.get(i - 1) == j - 1 and i - cuts[-1][0] >= words:
            cuts.append((i, j))
    cuts.append((len(before), len(after)))
    return [
        (" ".join(before[i:k]), " ".join(after[j:m]))
        for (i, j), (k, m) in zip(cuts, cuts[1:], strict=False)
    ]

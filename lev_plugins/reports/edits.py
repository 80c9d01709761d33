"""What was done to a draft, token by token: what was kept, corrected and miscorrected.

A token is right where a longest common subsequence with the reference holds it, and kept where one
of draft and output does; the edits are then the fewest insertions and deletions, as the expert's
are (paper, Eq. 8). Of several subsequences equally long one is taken, by one rule for all.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Indel


class EditCounts(NamedTuple):
    """Tokens of drafts and outputs by what was done and whether that was right.

    ``right_kept`` + ``right_miscorrected`` + ``wrong_gone`` + ``wrong_left`` are the draft's
    tokens; ``right_inserted`` and ``wrong_inserted`` are those of the output that are not the
    draft's. ``needed`` and ``remaining`` are insertions and deletions from draft and output to
    reference.
    """

    right_kept: int = 0
    right_miscorrected: int = 0
    wrong_gone: int = 0
    wrong_left: int = 0
    right_inserted: int = 0
    wrong_inserted: int = 0
    needed: int = 0
    remaining: int = 0


def count_edits(
    draft: Sequence[str], output: Sequence[str], reference: Sequence[str]
) -> EditCounts:
    """The counts of one sentence."""
    right, kept = held(draft, reference), held(draft, output)
    good, old = held(output, reference), held(output, draft)
    return EditCounts(
        right_kept=len(right & kept),
        right_miscorrected=len(right - kept),
        wrong_gone=len(draft) - len(right | kept),
        wrong_left=len(kept - right),
        right_inserted=len(good - old),
        wrong_inserted=len(output) - len(good | old),
        needed=len(draft) + len(reference) - 2 * len(right),
        remaining=len(output) + len(reference) - 2 * len(good),
    )


def held(tokens: Sequence[str], other: Sequence[str]) -> set[int]:
    """Places of the tokens that a longest common subsequence of two sequences holds."""
    steps = Indel.opcodes(tokens, other)
    return {i for one in steps if one.tag == "equal" for i in range(one.src_start, one.src_end)}

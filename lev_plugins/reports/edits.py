"""What was done to a draft, token by token: what was kept, corrected and miscorrected.

A token is right where a longest common subsequence with the reference holds it, and kept where one
of draft and output does; the edits are then the fewest insertions and deletions, as the expert's
are (paper, Eq. 8). Of several subsequences equally long one is taken, by one rule for all.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Indel


class Agreement(NamedTuple):
    """How many tokens of a sequence two others hold, and how many of them both at once."""

    first: int
    second: int
    both: int


def agreement(tokens: Sequence[str], first: Sequence[str], second: Sequence[str]) -> Agreement:
    """How many tokens of a sequence longest common subsequences with two others hold."""
    in_first, in_second = held(tokens, first), held(tokens, second)
    return Agreement(len(in_first), len(in_second), len(in_first & in_second))


def held(tokens: Sequence[str], other: Sequence[str]) -> set[int]:
    """Places of the tokens that a longest common subsequence of two sequences holds."""
    steps = Indel.opcodes(tokens, other)
    return {i for one in steps if one.tag == "equal" for i in range(one.src_start, one.src_end)}


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
    of_draft = agreement(draft, reference, output)
    of_output = agreement(output, reference, draft)
    inserted = len(output) - of_output.second
    wrong = len(draft) - of_draft.first
    left = of_draft.second - of_draft.both
    right_inserted = of_output.first - of_output.both
    return EditCounts(
        right_kept=of_draft.both,
        right_miscorrected=of_draft.first - of_draft.both,
        wrong_gone=wrong - left,
        wrong_left=left,
        right_inserted=right_inserted,
        wrong_inserted=inserted - right_inserted,
        needed=len(draft) + len(reference) - 2 * of_draft.first,
        remaining=len(output) + len(reference) - 2 * of_output.first,
    )

"""What an editor is asked for: sentences with their drafts and terms, and how to decode them."""

import math
from collections.abc import Iterable, Sequence

from ..errors import UserError
from ..systems.levenshtein.decoding.options import LARGEST_PENALTY
from .arguments import check_number, check_whole, listed, optional_strings, strings

# a source, its draft and its terms
Row = tuple[str, str | None, Sequence[str] | None]
Terms = Iterable[Iterable[str] | None]


def read_rows(
    sources: Iterable[str], drafts: Iterable[str | None] | None, terms: Terms | None
) -> list[Row]:
    """A row for every source.

    Raises:
        UserError: what is no list of strings, or of another length.
    """
    read = strings("sources", "source", sources)
    nothing = [None] * len(read)
    beside = nothing if drafts is None else optional_strings("drafts", "draft", drafts)
    of_terms = nothing if terms is None else _read_terms(terms)
    for others, name in ((beside, "drafts"), (of_terms, "lists of terms")):
        if len(others) != len(read):
            raise UserError(f"{len(read)} sources but {len(others)} {name}")
    return list(zip(read, beside, of_terms, strict=True))


def _read_terms(terms: Terms) -> Sequence[list[str] | None]:
    found: list[list[str] | None] = []
    for number, row in enumerate(listed("terms", terms), start=1):
        where = f"sentence {number}: term"
        if isinstance(row, str):
            raise UserError(f"{where}s are a list of texts, not a single text")
        found.append(None if row is None else strings(f"{where}s", where, row))
    return found


def check_decoding(
    *,
    max_iter: int,
    batch_size: int,
    nbest: int,
    candidates: int,
    empty_penalty: float | None,
    delete_threshold: float | None,
    noise_scale: float,
    seed: int,
) -> None:
    """Refuses options that nothing can be decoded with, by the names that they have in Python.

    The decoder looks at most of them as well, and names the flags of fairseq's commands.

    Raises:
        UserError: one of another type, or out of its range.
    """
    check_whole("max_iter", max_iter)
    check_whole("batch_size", batch_size)
    check_whole("nbest", nbest)
    check_whole("candidates", candidates)
    check_whole("seed", seed, -math.inf)
    if nbest > candidates:
        raise UserError(f"nbest {nbest}: give candidates={nbest} or more, not {candidates}")
    if empty_penalty is not None:
        check_number("empty_penalty", empty_penalty, LARGEST_PENALTY)
    if delete_threshold is not None:
        check_number("delete_threshold", delete_threshold, 1)
    check_number("noise_scale", noise_scale)

"""Subwords that are learned from text, by SentencePiece."""

import re
from collections.abc import Iterator
from typing import Any

from ..errors import UserError

LARGEST = 2**31 - 1  #: what SentencePiece can count to
_TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")


def train_sentencepiece(
    sentences: Iterator[str], size: int, flag: str = "--vocab-size", **options: Any
) -> None:
    """Trains a SentencePiece model that has every character of the sentences.

    Args:
        size: how many subwords it has; fewer where the sentences do not give so many.
        flag: by which the user gives the size, for messages.
        options: more of SentencePiece's own: ``model_prefix`` or ``model_writer`` among them.

    Raises:
        UserError: no text, or a size that it does not allow.
    """
    import sentencepiece

    if not 0 < size <= LARGEST:
        raise UserError(f"{flag} {size}: give a number of subwords, such as 4000")
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=sentences,
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=1.0,
            minloglevel=2,
            **options,
        )
    except (RuntimeError, ValueError) as error:
        if least := _TOO_SMALL.search(str(error)):
            raise UserError(
                f"{flag} {size}: this text needs at least {least[1]} subwords, one for each "
                "character and special symbol; give more"
            ) from None
        reason = str(error).strip().rpartition("\n")[2]
        fault = f"SentencePiece cannot be trained on this text ({reason})"
        raise UserError(f"{flag} {size}: {fault}") from None

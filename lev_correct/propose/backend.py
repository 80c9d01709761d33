"""Base of the models that correct, and how sure they are of each word that they changed."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Indel

from lev_runtime.text.codec import TextProcessing, Tokens
from lev_runtime.text.source_change import changes
from lev_runtime.text.words import WordEdit, word_edits

from ..lines import Answer
from ..text.units import Knows, Listed, ModelUnit
from .spacing import Spacing


class Rewriting(NamedTuple):
    """A unit as a model wrote it, token by token; probabilities are logarithms, in nats.

    unit, written: tokens; None where it wrote what has no spelling (``<unk>``). gone: for each
    token of the unit the probability of what took it away, None where it stays. come: for each that
    was written the same, None where it is the unit's.
    """

    unit: Tokens
    written: Sequence[str | None]
    gone: Sequence[float | None]
    come: Sequence[float | None]

    def answer(self, text: str, processing: TextProcessing) -> Answer:
        """Returns the edits of the words of ``text``, which the unit's tokens are.

        The probability of one is the product of those of the tokens of its words, before and after.
        What text processing alone makes of a word is no edit.
        """
        before, after = (processing.text(side).split() for side in self[:2])
        if before == after:
            return {}
        words, all_logs = text.split(), [*self.gone, *self.come]
        if len(words) != len(before):  # it is not known which is which
            return {WordEdit(0, len(words), tuple(after)): _product(all_logs)}
        gone = [*zip(_word_of(processing, self.unit), self.gone, strict=True)]
        come = [*zip(_word_of(processing, self.written), self.come, strict=True)]
        answer, grown = {}, 0
        for edit in word_edits(before, after):
            first = edit.start + grown
            last = first + len(edit.words)
            grown = last - edit.end
            edit_logs = [log for place, log in gone if edit.start <= place < edit.end]
            edit_logs += [log for place, log in come if first <= place < last]
            if tuple(words[edit.start : edit.end]) != edit.words:
                answer[edit] = _product(all_logs if set(edit_logs) <= {None} else edit_logs)
        return answer


def _word_of(processing: TextProcessing, tokens: Sequence[str | None]) -> list[int]:
    """The number of the word that each token belongs to, a space to that before it."""
    # whatever joins tokens, the text of the first few is the beginning of the whole
    return [max(len(processing.text(tokens[: n + 1]).split()) - 1, 0) for n in range(len(tokens))]


def _product(logs: Sequence[float | None]) -> float:
    return min(1.0, math.exp(math.fsum(log for log in logs if log is not None)))


def rewriting(
    unit: Tokens,
    written: Sequence[str | None],
    scores: Sequence[float],
    known: Knows,
) -> Rewriting:
    """Returns what a left-to-right model changed.

    Args:
        written: its tokens without </s>; None for ``<unk>``.
        scores: the log-probability of each, and that of </s>.
        known: whether the model can write a token; one that it cannot stays as it was typed where
            a minimal script keeps it next to an ``<unk>``.
    """
    # as few items deleted and inserted as possible: the expert policy's edit distance (Levenshtein
    # Transformer paper, Eq. 8)
    edits = Indel.editops([token if known(token) else None for token in unit], written)
    tokens = list(written)
    gone: list[float | None] = [None] * len(unit)
    come: list[float | None] = [None] * len(tokens)
    place = number = 0
    for i, j, k, m in [*changes(edits), (len(unit), len(unit), len(tokens), len(tokens))]:
        tokens[number:k] = unit[place:i]
        gone[i:j], come[k:m] = [0.0] * (j - i), scores[k:m]
        if m > k:
            come[m - 1] = scores[m - 1] + scores[m]
        elif j > i:
            gone[j - 1] = scores[m]
        place, number = j, m
    return Rewriting(unit, tokens, gone, come)


class Backend:
    """A model that corrects.

    limit: tokens of a unit at most. knows_spaces: one that does not reads single words.
    words_learnt: words of the units that it learnt to read, where that is known. uses_context:
    whether :meth:`write` is to be told the words around each unit.
    """

    limit: int
    knows_spaces: bool
    words_learnt: int | None = None
    uses_context = False
    processing: TextProcessing
    #: Finds what is to be joined and divided, where the lists say enough.
    spacing: Spacing | None = None
    #: Whether a text is read; one that is not stays as it is.
    readable: Knows = staticmethod(lambda text: True)
    #: Whether there are lists of words and none has a word, neither as right nor as wrong.
    unknown: Knows = staticmethod(lambda word: False)
    #: The corrections that are listed for a word as a misspelling, the likeliest first.
    misspelt: Listed = staticmethod(lambda word: ())
    #: Whether a word is right, but may be written for another one.
    is_confused: Knows = staticmethod(lambda word: False)
    #: Whether a list has a word as right.
    knows: Knows = staticmethod(lambda word: False)

    #: How usual a word in small letters is: its log-probability.
    rating: Callable[[str], float] = staticmethod(lambda word: 0.0)
    #: How much a word looks like those of the language: mean log-probability of its letters.
    shape: Callable[[str], float] = staticmethod(lambda word: 0.0)
    #: How much more often two words are met side by side than by chance, in nats.
    association: Callable[[str, str], float] = staticmethod(lambda left, right: 0.0)

    def suggestions(self, word: str) -> Sequence[str]:
        """Returns what a word may become, the likeliest first; it may be one of them."""
        return self.misspelt(word)

    def write(
        self,
        units: Sequence[ModelUnit],
        batch_size: int,
        doubts: bool = False,
    ) -> list[Answer | None]:
        """An answer for each unit, in order, however they are batched; None for one that did not
        come to an end. Units have 1 to ``limit`` tokens, and contexts where ``uses_context``.

        Args:
            doubts: whether a word of no list gets its likeliest change, though it would rather
                stay: a judge has more to go by.
        """
        raise NotImplementedError

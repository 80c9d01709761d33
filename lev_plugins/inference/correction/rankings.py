"""Which ranking a model gets: of single words or of units, or none."""

import logging
from collections.abc import Mapping

from ...errors import UserError
from .backends import Backend
from .settings import Settings
from .unit_ranking import WEIGHTS, UnitRanker, UnitRankingBackend
from .units import UnitKind, spans
from .word_ranking import DEFAULTS, Resources, WordRanker, WordRankingBackend

logger = logging.getLogger(__name__)

#: Weight of a listed correction where none was tuned: a table that somebody wrote is followed.
LISTED = 30.0
#: More than this share of a table that is never asked for is named.
UNASKED = 0.01


def ranked(
    backend: Backend, use: Settings, unit: str | None, weights: Mapping[str, float]
) -> Backend:
    """The backend, its candidates ranked where there is a lexicon or a look-up table.

    Args:
        use: files, and weights that were tuned.
        weights: in the place of these.

    Raises:
        UserError: weights, bigrams or confusions where they would be of no use.
    """
    unused = [f"--{name} {file}" for name in ("bigrams", "confusions")
              if (file := getattr(use, name))]  # fmt: skip
    if not use.lexicon and not use.lookup:
        unused += [f"--weight {name}" for name in weights]
        if unused:
            raise UserError(f"{unused[0]}: there is no ranking; give --lexicon")
        return backend
    words = unit in ("word", "letters")
    # those of lines have another scale than those of words
    stored = use.weights if words == (use.unit in (None, "word", "letters")) else {}
    listed = {} if use.tuned and "lookup" in stored else {"lookup": LISTED}
    # settings of an older version do not name all weights of words
    weights = {**(DEFAULTS if words else WEIGHTS), **stored, **listed, **weights}
    asked: UnitKind = "letters" if unit == "letters" else "word"
    if words:
        if use.confusions and not (use.bigrams and use.lexicon):
            missing = "--bigrams" if use.lexicon else "--lexicon"
            raise UserError(
                f"--confusions {use.confusions}: which word was meant, their neighbours and counts "
                f"say; give {missing} too"
            )
        return WordRankingBackend(WordRanker(backend, _resources(use, backend, asked), weights))
    if unused:
        raise UserError(
            f"{unused[0]}: for words that are ranked one by one; --unit letters, or "
            "leave the file out (--settings none where the settings name it)"
        )
    return UnitRankingBackend(UnitRanker(backend, _resources(use, backend, asked), weights))


def _resources(use: Settings, backend: Backend, kind: UnitKind) -> Resources:
    """The files of the settings; a lexicon that spells otherwise than the model is named, and
    misspellings that are no unit of that kind and so never asked for."""
    found = use.resources()
    if found.lookup:
        known = found.lookup.corrections
        lost = [
            one for one in known if not one.isalpha() and [*spans(one, kind)] != [(0, len(one))]
        ]
        if len(lost) > UNASKED * len(known):
            what = "words of letters alone; --unit word reads all between spaces"
            logger.warning(
                f"{use.lookup}: {len(lost):,} of {len(known):,} misspellings are never found "
                f"({lost[0]!r}), for the table is asked for "
                f"{what if kind == 'letters' else 'single words'}"
            )
    dictionary = getattr(getattr(backend, "task", None), "target_dictionary", None)
    if found.lexicon and dictionary:
        for letter, often in found.lexicon.lacking(dictionary).items():
            logger.warning(
                f"{use.lexicon}: no word has {letter!r}, which is one in {often} letters of the "
                "text that the model learnt; right words with it may be changed, so give a list "
                "that was not case-folded (examples/spelling_and_ocr/word_list.py makes one)"
            )
    return found

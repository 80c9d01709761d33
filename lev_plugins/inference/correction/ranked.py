"""Which ranking a model gets: of single words or of units, or none."""

from collections.abc import Mapping

from ...errors import UserError
from .backends import Backend
from .ranking import DEFAULTS, RankedBackend, Ranker
from .reranking import RerankedBackend, Reranker, tuned_weights
from .settings import Settings


def ranked(
    backend: Backend, use: Settings, unit: str | None, weights: Mapping[str, float]
) -> Backend:
    """The backend, its candidates ranked where there is a lexicon or a look-up table.

    Args:
        use: files, and weights that were tuned.
        weights: in the place of these.

    Raises:
        UserError: weights or bigrams where they would be of no use.
    """
    if not use.lexicon and not use.lookup:
        unused = [f"--bigrams {use.bigrams}"] if use.bigrams else []
        unused += [f"--weight {name}" for name in weights]
        if unused:
            raise UserError(f"{unused[0]}: there is no ranking; give --lexicon")
        return backend
    if unit in ("word", "letters"):
        # settings of before there were bigrams do not name their weight
        weights = {"bigrams": DEFAULTS["bigrams"], **use.weights, **weights}
        return RankedBackend(Ranker(backend, use.resources(), weights))
    if use.bigrams:
        raise UserError(
            f"--bigrams {use.bigrams}: for words that are ranked one by one; --unit letters, or "
            "leave the file out (--settings none where the settings name it)"
        )
    weights = {**tuned_weights(use.weights), **weights}
    return RerankedBackend(Reranker(backend, use.resources(), weights))

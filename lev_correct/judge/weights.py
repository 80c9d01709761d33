"""Weights of a judge, which were learnt, in a file beside the model."""

import json
from collections.abc import Mapping
from pathlib import Path

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_bytes

#: Kind of edits of words in a text that has few errors, or none.
FEW = "few"
#: Those of English.
ENGLISH = Path(__file__).parents[1] / "english_spelling" / "corrector.judge"


class Weights:
    """Log-odds of edits by kind and feature.

    Args:
        kinds: of each kind its ``bias``, the log-odds where all features have their mean, and of
            features by name their weight and mean.
    """

    def __init__(self, kinds: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
        self._kinds = kinds

    @classmethod
    def read(cls, path: str | Path) -> "Weights":
        """Reads a file of ``fit_judge.py``; raises UserError for another one."""
        try:
            kinds = json.loads(read_bytes(str(path)))["kinds"]
            return cls(
                {
                    kind: {
                        name: (float(weight), float(mean)) for name, (weight, mean) in rows.items()
                    }
                    for kind, rows in kinds.items()
                }
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"{path} holds no weights of a judge ({error})") from None

    def judged(self, kind: str, features: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        """Returns the log-odds of an edit, and the terms of them by name, in nats; raises UserError
        where the weights are of another version's features.

        A word is judged by kind ``few`` in a text without listed misspellings, where weights have
        it; the more errors a text has, the more by its own.
        """
        try:
            odds, terms = self._sum(kind, features)
            if kind == "word" and FEW in self._kinds:
                of_few, few = self._sum(FEW, features)
                share = features["errors in the text"]
                odds = share * odds + (1 - share) * of_few
                terms = {
                    n: share * term + (1 - share) * few.get(n, 0.0) for n, term in terms.items()
                }
        except KeyError as error:
            fault = f"the judge's weights are of another version ({error})"
            raise UserError(f"{fault}; fit them again with fit_judge.py") from None
        return odds, terms

    def _sum(self, kind: str, features: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        rows = self._kinds[kind]
        terms = {
            name: weight * (features[name] - mean)
            for name, (weight, mean) in rows.items()
            if name != "bias"
        }
        return rows["bias"][0] + sum(terms.values()), terms

"""TER and BLEU of sacrebleu, and the edits of TER of a sentence."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from lev_runtime.errors import UserError

from .repair.lines import to_text


class Score:
    """A metric of sacrebleu."""

    def __init__(self, name: str, **options: bool) -> None:
        try:
            from sacrebleu import metrics
        except ModuleNotFoundError:
            raise UserError("TER and BLEU need sacrebleu: pip install '.[memory]'") from None
        self.metric: Any = getattr(metrics, name)(**options)

    def corpus(self, outputs: Sequence[str], references: Sequence[str]) -> float:
        """Returns the score of all sentences together, in percent."""
        return float(self.metric.corpus_score(outputs, [references]).score)


@cache
def ter() -> Score:
    """Returns TER (Snover et al., 2006), normalised and case-sensitive."""
    return Score("TER", normalized=True, case_sensitive=True)


@cache
def bleu() -> Score:
    """Returns BLEU with sacrebleu's defaults."""
    return Score("BLEU", force=True)


def edits(line: str, reference: str) -> float:
    """Returns the edits of TER from a line to its reference."""
    texts = [to_text(line)], [[to_text(reference)]]
    ((count, *_),) = ter().metric._extract_corpus_statistics(*texts)  # not public
    return float(count)

"""TER and BLEU of sacrebleu as sums of sentences' statistics."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from lev_runtime.errors import UserError


class Score:
    """A metric of sacrebleu, whose statistics of sentences add up to those of a corpus."""

    def __init__(self, metric: Any) -> None:
        self.metric = metric

    def statistics(self, output: str, reference: str) -> list[float]:
        """Returns what is counted of a sentence; TER: its edits and the reference's words."""
        # not public, but the same for all of sacrebleu's metrics
        (numbers,) = self.metric._extract_corpus_statistics([output], [[reference]])
        return [*map(float, numbers)]

    def corpus(self, outputs: Sequence[str], references: Sequence[str]) -> float:
        """Returns the score of all sentences together, in percent."""
        return float(self.metric.corpus_score(outputs, [references]).score)


@cache
def ter() -> Score:
    """Returns TER (Snover et al., 2006), normalised and case-sensitive."""
    return Score(_metrics().TER(normalized=True, case_sensitive=True))


@cache
def bleu() -> Score:
    """Returns BLEU with sacrebleu's defaults."""
    return Score(_metrics().BLEU(force=True))


def _metrics() -> Any:
    try:
        from sacrebleu import metrics
    except ModuleNotFoundError as error:
        raise UserError("TER and BLEU need sacrebleu: pip install '.[memory]'") from error
    return metrics

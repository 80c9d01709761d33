"""TER and BLEU of sacrebleu, and the edits of TER of a sentence."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from lev_runtime.errors import UserError

from .repair.text import to_text


def metric(name: str, **options: bool) -> Any:
    """Returns a metric of sacrebleu."""
    try:
        from sacrebleu import metrics
    except ModuleNotFoundError:
        raise UserError("TER and BLEU need sacrebleu: pip install '.[memory]'") from None
    return getattr(metrics, name)(**options)


@cache
def ter() -> Any:
    """Returns TER (Snover et al., 2006), normalised and case-sensitive."""
    return metric("TER", normalized=True, case_sensitive=True)


@cache
def bleu() -> Any:
    """Returns BLEU with sacrebleu's defaults."""
    return metric("BLEU", force=True)


def corpus(score: Any, outputs: Sequence[str], references: Sequence[str]) -> float:
    """Returns a metric of all sentences together, in percent."""
    return float(score.corpus_score(outputs, [references]).score)


@cache
def edits(line: str, reference: str) -> float:
    """Returns the edits of TER from a line to its reference."""
    texts = [to_text(line)], [[to_text(reference)]]
    ((count, *_),) = ter()._extract_corpus_statistics(*texts)  # not public
    return float(count)

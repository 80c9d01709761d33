"""The empty penalty and the deletion threshold with which outputs score best."""

from collections.abc import Iterator, Sequence
from functools import cache
from statistics import fmean
from typing import NamedTuple

from fairseq.data.data_utils import post_process

from lev_runtime.errors import UserError

from ..metrics.corpus import Metric, add_up
from .editor import LevenshteinEditor


class Choice(NamedTuple):
    """Settings: the corpus score, and words written over words of the references."""

    gamma: float
    threshold: float
    score: float
    length: float
    iterations: float


class Search:
    """Decodes a split of the editor's data folder again and again, and scores it.

    The editor reads subwords: its tokenizer and bpe are None. Sides are subwords with a space
    between them; unknown words of references never count as right.

    Args:
        symbol: how fairseq joins subwords (``--post-process``).

    Attributes:
        drafts: None without. left_out: how many sentences are longer than the model reads.

    Raises:
        UserError: no such split, one without targets, or of sentences that are too long alone.
    """

    def __init__(
        self, editor: LevenshteinEditor, split: str, metric: Metric, symbol: str | None
    ) -> None:
        self.editor = editor
        self.metric = metric
        self.symbol = symbol
        task = editor.task
        task.load_dataset(split)
        data = task.dataset(split)
        if data.tgt is None:
            raise UserError(f"{task.cfg.data}: {split} has no {task.cfg.target_lang} side")
        sides = [data.src] if data.draft is None else [data.src, data.draft]
        limits = list(zip(sides, editor.limits))

        def is_readable(i: int) -> bool:
            return all(len(side[i]) <= most for side, most in limits)

        rows = list(filter(is_readable, range(len(data))))
        if not rows:
            raise UserError(f"{task.cfg.data}: {split} has no sentence that the model can read")
        text = task.tgt_dict.string
        self.left_out = len(data) - len(rows)
        self.sources = [task.src_dict.string(data.src[i]) for i in rows]
        self.drafts = None if data.draft is None else [text(data.draft[i]) for i in rows]
        references = (text(data.tgt[i], escape_unk=True) for i in rows)
        self.references = [post_process(reference, symbol) for reference in references]
        self.statistics = cache(metric.statistics)  # of a sentence, for outputs that come again

    def rated(self, texts: Sequence[str]) -> tuple[float, float]:
        """The score of outputs (subwords), and their length over that of the references."""
        outputs = [post_process(text, self.symbol) for text in texts]
        statistics = map(self.statistics, outputs, self.references)
        totals = add_up(self.metric, statistics)
        length = _word_count(outputs) / max(_word_count(self.references), 1)
        return self.metric.score(totals), length

    def choices(
        self, gammas: Sequence[float], thresholds: Sequence[float], max_iter: int, batch_size: int
    ) -> Iterator[Choice]:
        """Every pair of an empty penalty (γ, §3.3) and a deletion threshold, decoded, scored."""
        for gamma in gammas:
            for threshold in thresholds:
                traces = self.editor.edit(
                    self.sources, self.drafts, max_iter=max_iter, batch_size=batch_size,
                    empty_penalty=gamma, delete_threshold=threshold, history=False,
                )  # fmt: skip
                rated = self.rated([trace.text for trace in traces])
                yield Choice(gamma, threshold, *rated, fmean(trace.steps for trace in traces))


def _word_count(texts: Sequence[str]) -> int:
    return sum(len(text.split()) for text in texts)


def best_of(choices: Sequence[Choice], metric: Metric) -> Choice:
    """The best score; of equal ones the first, which changes decoding least."""
    sign = 1 if metric.higher_is_better else -1
    return max(choices, key=lambda choice: sign * choice.score)

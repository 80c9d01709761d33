"""The empty penalty and the deletion threshold with which outputs score best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import NamedTuple

from fairseq.data.data_utils import post_process

from ..errors import UserError
from ..metrics.corpus import Metric, add_up
from .editor import LevenshteinEditor


@dataclass(frozen=True)
class Corpus:
    """Subwords of a split's sentences, with a space between them; drafts: None without.

    left_out: how many sentences are longer than the model reads.
    """

    sources: list[str]
    drafts: list[str] | None
    references: list[str]
    left_out: int


class Choice(NamedTuple):
    """Settings: the corpus score, and words written over words of the references."""

    gamma: float
    threshold: float
    score: float
    length: float
    iterations: float


def read_corpus(editor: LevenshteinEditor, split: str) -> Corpus:
    """A split of the editor's data folder; unknown words of references never count as right.

    Raises:
        UserError: no such split, or one without targets.
    """
    task, source_limit, draft_limit = editor.task, *editor.limits[:2]
    task.load_dataset(split)
    data = task.dataset(split)
    if data.tgt is None:
        raise UserError(f"{task.cfg.data}: {split} has no {task.cfg.target_lang} side")
    numbers = [
        i
        for i in range(len(data))
        if len(data.src[i]) <= source_limit
        and (data.draft is None or len(data.draft[i]) <= draft_limit)
    ]
    if not numbers:
        raise UserError(f"{task.cfg.data}: {split} has no sentence that the model can read")
    drafts = None if data.draft is None else [task.tgt_dict.string(data.draft[i]) for i in numbers]
    return Corpus(
        [task.src_dict.string(data.src[i]) for i in numbers],
        drafts,
        [task.tgt_dict.string(data.tgt[i], escape_unk=True) for i in numbers],
        len(data) - len(numbers),
    )


class Search:
    """Decodes a corpus again and again, and scores it; a sentence's statistics are kept.

    The editor reads subwords: its tokenizer and bpe are None. ``symbol`` says how fairseq joins
    them (``--post-process``).
    """

    def __init__(
        self, editor: LevenshteinEditor, corpus: Corpus, metric: Metric, symbol: str | None
    ) -> None:
        self.editor, self.corpus, self.metric, self.symbol = editor, corpus, metric, symbol
        self.references = [post_process(one, symbol) for one in corpus.references]
        self.statistics = cache(metric.statistics)

    def rated(self, texts: Sequence[str]) -> tuple[float, float]:
        """The score of outputs (subwords), and their length over that of the references."""
        outputs = [post_process(one, self.symbol) for one in texts]
        found = map(self.statistics, outputs, self.references)
        sizes = [sum(len(one.split()) for one in side) for side in (outputs, self.references)]
        return self.metric.score(add_up(self.metric, found)), sizes[0] / max(sizes[1], 1)

    def choices(
        self, gammas: Sequence[float], thresholds: Sequence[float], max_iter: int, batch_size: int
    ) -> Iterator[Choice]:
        """Every pair of an empty penalty (γ, §3.3) and a deletion threshold, decoded, scored."""
        for gamma in gammas:
            for threshold in thresholds:
                traces = self.editor.edit(
                    self.corpus.sources, self.corpus.drafts, max_iter=max_iter,
                    batch_size=batch_size, empty_penalty=gamma, delete_threshold=threshold,
                )  # fmt: skip
                rated = self.rated([one.text for one in traces])
                yield Choice(gamma, threshold, *rated, fmean(one.steps for one in traces))


def best_of(choices: Sequence[Choice], metric: Metric) -> Choice:
    """The best score; of equal ones the first, which changes decoding least."""
    sign = 1 if metric.higher_is_better else -1
    return max(choices, key=lambda one: sign * one.score)

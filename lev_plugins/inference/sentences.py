"""A sentence on its way through an editor: from text to tokens, from hypotheses to traces."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fairseq.data import Dictionary
from torch import Tensor

from ..errors import UserError
from ..systems.levenshtein.decoding.history import EditTrace, Iteration
from ..systems.levenshtein.decoding.records import EditHypothesis, Step
from ..systems.levenshtein.task import Draft
from .arguments import strings

Terms = Iterable[Iterable[str] | None]
Row = tuple[str, str | None, Sequence[str] | None, str | None]


def read_rows(
    sources: Iterable[str],
    drafts: Iterable[str | None] | None,
    terms: Terms | None,
    old_sources: Iterable[str | None] | None = None,
) -> list[Row]:
    """Source, draft, terms and older source of every sentence.

    Raises:
        UserError: what is no list of strings, or of another length.
    """
    sides: dict[str, list[Any]] = {"sources": strings("sources", "source", sources)}
    if drafts is not None:
        sides["drafts"] = strings("drafts", "draft", drafts, optional=True)
    if terms is not None:
        sides["terms"] = [row if row is None else strings("terms", "term", row) for row in terms]
    if old_sources is not None:
        sides["old_sources"] = strings("old_sources", "old source", old_sources, optional=True)
    count = len(sides["sources"])
    for name, side in sides.items():
        if len(side) != count:
            raise UserError(f"{count} sources but {len(side)} {name.replace('_', ' ')}")
    names = ("sources", "drafts", "terms", "old_sources")
    rows: Any = zip(*(sides.get(name, [None] * count) for name in names))
    return list(rows)


class Sentence(NamedTuple):
    """A sentence as text and as tokens.

    words: the draft's, or the terms', tokens as they were typed, known to the model or not.
    tokens: of the source. coded: of the draft; both with <s> and </s>.
    """

    source: str
    draft: str | None
    words: Sequence[str]
    tokens: Tensor
    coded: Draft
    dictionary: Dictionary

    def symbols(self, state: Step | EditHypothesis) -> tuple[str, ...]:
        """A state's tokens as strings; what stands since the draft, as it was typed."""
        tokens, origins = (state[name].tolist()[1:-1] for name in ("tokens", "origin"))
        return tuple(
            self.dictionary[token] if origin < 0 else self.words[origin - 1]
            for token, origin in zip(tokens, origins)
        )

    def trace(self, text: str, found: EditHypothesis) -> EditTrace:
        """What was done to the sentence; ``text`` is the outcome."""
        steps, ending = tuple(self._iterations(found["history"])), found["terminated"]
        how = found["score"], steps, ending, found["steps"]
        return EditTrace(self.source, self.draft, text, *how)

    def _iterations(self, history: Sequence[Step]) -> Iterator[Iteration]:
        """The history has the draft, then deletions, placeholders and tokens in turn."""
        for before, delete, after in zip(history[0::3], history[1::3], history[3::3]):
            yield Iteration(
                before=self.symbols(before),
                deleted=tuple((~delete["mask"])[1 : len(before["tokens"]) - 1].tolist()),
                after=self.symbols(after),
                inserted=tuple(after["mask"][1 : len(after["tokens"]) - 1].tolist()),
                delete_probabilities=_probabilities(delete["scores"]),
                token_probabilities=_probabilities(after["scores"]),
            )


def _probabilities(scores: Tensor) -> tuple[float, ...]:
    """Of log-probabilities, those of <s> and </s> left out."""
    return tuple(round(value, 6) for value in scores[1:-1].exp().tolist())

"""Editing text with an exported Levenshtein Transformer."""

import functools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arguments import Terms, read_rows
from .batching import in_batches
from .constraints import Constraints, orders
from .decoding import Decoding, best
from .errors import UserError
from .folder import Folder
from .history import EditTrace, Iteration
from .markup import Joining, parse_markup, token_marks, whole_words, write_mark
from .noise import sentence_key
from .options import RefinementOptions
from .policy import Policy
from .sentence import Sentence, Step
from .source_change import mark_change
from .text import TextCodec, read_dictionaries

MODEL = "levenshtein_editor"


@dataclass(frozen=True)
class Line:
    """A sentence as text and as tokens, <s> and </s> with them.

    words: the draft's, or the terms', tokens as they were typed. marks: bits of :mod:`.markup` of
    the draft's tokens, None for no order.
    """

    source: str
    draft: str | None
    words: Sequence[str]
    source_tokens: np.ndarray
    draft_tokens: np.ndarray
    marks: np.ndarray | None


class Editor:
    """An exported model with its dictionaries and text processing; several threads may use one.

    Args:
        path: a folder that ``lev-export`` has written, or what was read of it.
        threads: that a pass computes with, by default as many as there are cores.

    Raises:
        UserError: no such folder, a damaged one, or one of another kind of model.
    """

    def __init__(self, path: str | os.PathLike[str] | Folder, threads: int | None = None) -> None:
        folder = path if isinstance(path, Folder) else Folder(path)
        folder.require(MODEL, "Editor")
        self.settings: dict[str, Any] = folder.description["settings"]
        self.codec = TextCodec(folder)
        self.source, self.target = read_dictionaries(folder)
        self.policy = Policy(folder, self.target.pad, self.target.placeholder, threads)
        self.constraints = Constraints(self.target)

    def edit(
        self, sources: Iterable[str], drafts: Iterable[str | None] | None = None, **options: Any
    ) -> list[EditTrace]:
        """Edits every draft, or writes an output for every source that has none.

        Options and errors are those of :meth:`edit_nbest`.

        Returns:
            the best trace for every source, in order.
        """
        return [best for best, *_ in self.edit_nbest(sources, drafts, **options)]

    def edit_nbest(
        self, sources: Iterable[str], drafts: Iterable[str | None] | None = None, nbest: int = 1, *,
        max_iter: int = 10, batch_size: int = 64, empty_penalty: float | None = None,
        delete_threshold: float | None = None, candidates: int | None = None,
        noise_scale: float = 0.5, seed: int = 1, markup: bool = False, terms: Terms | None = None,
        old_sources: Iterable[str | None] | None = None, history: bool = True,
    ) -> list[list[EditTrace]]:  # fmt: skip
        """An n-best list for every source, the best first, none twice.

        Args:
            sources: plain text, one sentence each.
            drafts: a draft or None for every source; None where there are no drafts at all.
            nbest, candidates: given back at most, and made for each source (default: as many).
            batch_size: sentences decoded at once; does not change the outputs.
            max_iter, empty_penalty, delete_threshold, noise_scale, seed: of
                :class:`.RefinementOptions`; the threshold is the model's by default.
            markup: drafts have marks: ``[=stays=]``, ``[-goes-]``, ``[+term+]`` (:mod:`.markup`).
            terms: for every source those that have to be in its output, each whole, in their order,
                or None; such a source has no draft.
            old_sources: for every source the older one that its draft translates, or None, for a
                model that was trained with them.
            history: whether traces have their iterations.

        Raises:
            UserError: lists of other lengths, or of what is no text; an option that cannot be; a
                sentence beyond the model's limit; marks that cannot be read; an unknown term.
        """
        threshold = self.settings["delete_threshold"]
        options = RefinementOptions(
            max_iter, empty_penalty or 0.0,
            threshold if delete_threshold is None else delete_threshold,
            max_len=max(200, self.settings["max_target_positions"]),
            candidates=candidates or nbest, nbest=nbest, noise_scale=noise_scale, seed=seed,
            history=history,
        )  # fmt: skip
        lines = []
        rows = read_rows(sources, drafts, terms, old_sources)
        for number, row in enumerate(rows, start=1):
            try:
                lines.append(self._line(*row, markup))
            except UserError as error:
                raise UserError(f"sentence {number}: {error}") from error
        sizes = (len(line.source_tokens) + len(line.draft_tokens) for line in lines)
        return in_batches(functools.partial(self._decode, options), lines, sizes, batch_size)

    # decoding -----------------------------------------------------------------------------------

    def _decode(self, options: RefinementOptions, lines: Sequence[Line]) -> list[list[EditTrace]]:
        """The n-best of one batch."""
        memory = self.policy.encode([line.source_tokens for line in lines])
        count = options.candidates
        sentences = [
            self._sentence(line, row, candidate, options)
            for row, line in enumerate(lines)
            for candidate in range(count)
        ]
        decoding = Decoding(self.policy, memory, sentences, self.target, options, self.constraints)
        decoding.run()
        if count > 1:
            decoding.rate()
        else:
            for sentence in sentences:
                sentence.score = float(sentence.scores.mean())
        groups = (sentences[first : first + count] for first in range(0, len(sentences), count))
        return [
            [self._trace(line, sentence) for sentence in best(group, options.nbest)]
            for line, group in zip(lines, groups, strict=True)
        ]

    def _sentence(
        self, line: Line, row: int, candidate: int, options: RefinementOptions
    ) -> Sentence:
        """A candidate before it is decoded."""
        source, draft, marks = line.source_tokens, line.draft_tokens, line.marks
        drafted = len(draft) - 2
        # with a limit near its length a draft would be deleted from and not inserted into
        longest = max(options.max_len, drafted + (drafted + 1) // 2)
        return Sentence(
            row=row,
            candidate=candidate,
            key=sentence_key(source, draft) if candidate else 0,
            tokens=draft,
            cap=min(longest + 2, self.settings["model_limit"]),
            marks=marks,
            removed=[] if marks is None else orders(draft, marks),
        )

    def _trace(self, line: Line, sentence: Sentence) -> EditTrace:
        """What was done to a sentence."""
        assert sentence.terminated is not None
        symbols = self._symbols(line, sentence.tokens, sentence.origin)
        text = self.codec.decode(" ".join(symbols))
        steps = tuple(self._iteration(line, step) for step in sentence.history)
        how = sentence.score, steps, sentence.terminated, sentence.steps
        return EditTrace(line.source, line.draft, text, *how)

    def _iteration(self, line: Line, step: Step) -> Iteration:
        return Iteration(
            before=self._symbols(line, step.before, step.origin_before),
            deleted=tuple(step.deleted[1:-1].tolist()),
            after=self._symbols(line, step.after, step.origin_after),
            inserted=tuple(step.inserted[1:-1].tolist()),
            delete_probabilities=_probabilities(step.deleting),
            token_probabilities=_probabilities(step.scores),
        )

    def _symbols(self, line: Line, tokens: np.ndarray, origins: np.ndarray) -> tuple[str, ...]:
        """Tokens as strings; what stands since the draft, as it was typed."""
        symbols, words = self.target.symbols, line.words
        pairs = zip(tokens[1:-1].tolist(), origins[1:-1].tolist())
        return tuple(symbols[token] if place < 0 else words[place - 1] for token, place in pairs)

    # text and tokens ----------------------------------------------------------------------------

    def _line(
        self,
        source: str,
        draft: str | None,
        terms: Sequence[str] | None,
        old: str | None,
        markup: bool,
    ) -> Line:
        """A sentence as tokens, none longer than the model's limits."""
        if draft is not None and terms:
            raise UserError("has a draft and terms; mark the terms in the draft: [+term+]")
        if old is not None and not self.settings["old_source"]:
            raise UserError(
                "there is an old source, and the model was not trained with --old-source; leave it "
                "out"
            )
        draft_text, marked = draft or "", markup
        if terms:
            draft_text, marked = " ".join(write_mark(term, "term") for term in terms), True
        words, draft_tokens, marks = self._encode_draft(draft_text, marked)
        source_words = self.codec.encode(mark_change(source, old or "")).split()
        source_tokens = np.array(self.source.encode(source_words))
        sides = ("source", source_tokens), ("draft", draft_tokens)
        for (name, tokens), limit in zip(sides, self.settings["limits"]):
            if len(tokens) > limit:
                raise UserError(f"{len(tokens)} {name} tokens where the model's limit is {limit}")
        if terms:
            words = self.codec.encode(" ".join(terms)).split()
        return Line(source, draft, words, source_tokens, draft_tokens, marks)

    def _encode_draft(
        self, text: str, markup: bool
    ) -> tuple[list[str], np.ndarray, np.ndarray | None]:
        """A draft's words and tokens, and the marks on these; errors of :mod:`.markup`."""
        plain, spans = parse_markup(text) if markup else (text, [])
        encode = self.codec.encode
        # placing marks takes the square of the tokens; what is too long is refused later
        if spans and len(encode(plain).split()) + 2 > self.settings["max_target_positions"]:
            spans = []
        words, bits = token_marks(plain, spans, encode)
        tokens = self.target.encode(words)
        unk = self.target.unk
        unknown = {word for word, token in zip(words, tokens[1:]) if token == unk}
        for term in (plain[mark.start : mark.end] for mark in spans if mark.kind == "term"):
            for word in encode(term).split():
                if word in unknown:
                    raise UserError(
                        f"the term {term!r} has {word!r}, which is not in the vocabulary; choose "
                        "another word, or mark it [=…=] in a draft"
                    )
        if not any(bits):
            return words, np.array(tokens), None
        bits = whole_words(words, bits, self._joining)
        return words, np.array(tokens), np.array([0, *bits, 0])

    @functools.cached_property
    def _joining(self) -> Joining:
        return Joining(self.target.symbols[: self.target.placeholder])


def _probabilities(scores: np.ndarray) -> tuple[float, ...]:
    """Of log-probabilities, those of <s> and </s> left out."""
    return tuple(round(value, 6) for value in np.exp(scores[1:-1]).tolist())

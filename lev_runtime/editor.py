"""Editing text with an exported Levenshtein Transformer."""

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .constraints import Constraints, orders
from .decoding import Decoding, best
from .editing import Decode, TextEditor, check_lengths, marked_terms, marked_tokens
from .errors import UserError
from .folder import Folder
from .history import EditTrace, Iteration
from .markup import Joining
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


class Editor(TextEditor[Line]):
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
        self.delete_threshold = self.settings["delete_threshold"]
        self.codec = TextCodec(folder)
        self.source, self.target = read_dictionaries(folder)
        self.policy = Policy(folder, self.target.pad, self.target.placeholder, threads)
        self.constraints = Constraints(self.target)

    def decoder(self, history: bool, **options: Any) -> Decode[Line]:
        """See the base class."""
        longest = max(200, self.settings["max_target_positions"])
        refinement = RefinementOptions(max_len=longest, history=history, **options)
        return functools.partial(self._decode, refinement)

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

    def sentence(
        self,
        source: str,
        draft: str | None,
        terms: Sequence[str] | None,
        old: str | None,
        markup: bool,
    ) -> Line:
        """See the base class."""
        if old is not None and not self.settings["old_source"]:
            raise UserError(
                "there is an old source, and the model was not trained with --old-source; leave it "
                "out"
            )
        words, draft_tokens, marks = marked_tokens(
            marked_terms(terms) if terms else draft or "",
            markup or bool(terms),
            self.codec.encode,
            self.target.encode,
            self.target.unk,
            self.settings["max_target_positions"],
            lambda: self._joining,
        )
        source_words = self.codec.encode(mark_change(source, old or "")).split()
        source_tokens = self.source.encode(source_words)
        check_lengths(source_tokens, draft_tokens, self.settings["limits"])
        if terms:
            words = self.codec.encode(" ".join(terms)).split()
        sides = np.array(source_tokens), np.array(draft_tokens)
        return Line(source, draft, words, *sides, np.array(marks) if any(marks) else None)

    def size(self, sentence: Line) -> int:
        """See the base class."""
        return len(sentence.source_tokens) + len(sentence.draft_tokens)

    @functools.cached_property
    def _joining(self) -> Joining:
        return Joining(self.target.symbols[: self.target.placeholder])


def _probabilities(scores: np.ndarray) -> tuple[float, ...]:
    """Of log-probabilities, those of <s> and </s> left out."""
    return tuple(round(value, 6) for value in np.exp(scores[1:-1]).tolist())

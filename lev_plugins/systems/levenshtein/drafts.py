"""Drafts as tokens: text, marks, terms and words that are not known."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from fairseq.token_generation_constraints import unpack_constraints
from torch import Tensor

from ...errors import UserError
from ...tasks.post_editing import PostEditingTask
from .config import TranslationEditConfig
from .markup import Joining, Mark, parse_markup, token_marks, whole_words


class Draft(NamedTuple):
    """N tokens of a draft with <s> and </s>, and the bits of the marks on each."""

    tokens: Tensor
    marks: Tensor


class DraftEncoding(PostEditingTask):
    """What a task with a placeholder knows of drafts."""

    cfg: TranslationEditConfig
    placeholder: int

    def encode_draft(
        self, text: str, encode_fn: Callable[[str], str], markup: bool | None = None
    ) -> Draft:
        """A draft's tokens with <s> and </s>, and the marks on them.

        Words that are not known are <unk> to the model; the origin of a hypothesis' tokens tells
        which of them they were.

        Args:
            markup: whether the text has marks; by default what ``--markup`` says.

        Raises:
            UserError: marks that cannot be read, or a term with a word that is not known.
        """
        marked = self.cfg.markup if markup is None else markup
        return self._coded(*(parse_markup(text) if marked else (text, [])), encode_fn)

    def encode_terms(self, terms: Sequence[str], encode_fn: Callable[[str], str]) -> Draft:
        """Terms as the draft to start from, each to stay whole (Susanto et al., 2020).

        Raises:
            UserError: an empty term, or a word that is not known.
        """
        if not all(map(str.strip, terms)):
            raise UserError("a term is empty; leave it out, or give its text")
        ends = itertools.accumulate(len(term) + 1 for term in terms)
        marks = [Mark(end - len(term) - 1, end - 1, "term") for term, end in zip(terms, ends)]
        return self._coded(" ".join(terms), marks, encode_fn)

    def _coded(self, plain: str, spans: Sequence[Mark], encode_fn: Callable[[str], str]) -> Draft:
        """A draft from its plain text and the marks on it.

        Marks on more tokens than are read are not placed, which would take the square of their
        number: such a draft is refused, or skipped, for its length.
        """
        if spans and len(encode_fn(plain).split()) + 2 > self.cfg.max_target_positions:
            spans = []
        words, bits = token_marks(plain, spans, encode_fn)
        tokens = [self._known(word) for word in words]
        bos, eos, unk = self.tgt_dict.bos(), self.tgt_dict.eos(), self.tgt_dict.unk()
        for term in (plain[one.start : one.end] for one in spans if one.kind == "term"):
            for word in encode_fn(term).split():
                if self._known(word) == unk and word in words:
                    raise UserError(
                        f"the term {term!r} has {word!r}, which is not in the vocabulary; the "
                        "model cannot place what it does not know: choose another word, or mark it "
                        "[=…=] in a draft"
                    )
        if any(bits):
            bits = whole_words(words, bits, self.joining)
        return Draft(torch.tensor([bos, *tokens, eos]), torch.tensor([0, *bits, 0]))

    @functools.cached_property
    def joining(self) -> Joining:
        """How tokens of the target join into words."""
        return Joining(self.tgt_dict.symbols[: self.placeholder])

    def _known(self, word: str) -> int:
        """Its index; a special symbol typed as text is not a special symbol, but unknown."""
        token: int = self.tgt_dict.index(word)
        text = self.tgt_dict.nspecial <= token < self.placeholder
        return token if text else self.tgt_dict.unk()

    def encode_packed_terms(self, constraints: Tensor) -> list[Draft]:
        """The drafts that lines begin with: their terms in order, each whole (``--constraints``).

        Args:
            constraints: lines × …, as fairseq-interactive packs them.

        Raises:
            UserError: a term that is empty or has a word that is not known.
        """
        drafts = []
        for number, packed in enumerate(constraints, start=self.lines_before + 1):
            terms = unpack_constraints(packed)
            texts = [" ".join(map(self.tgt_dict.__getitem__, term.tolist())) for term in terms]
            try:
                drafts.append(self.encode_terms(texts, str))
            except UserError as error:
                raise UserError(f"input line {number}: {error}") from error
        return drafts

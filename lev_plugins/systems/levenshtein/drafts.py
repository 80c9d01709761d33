"""Drafts as tokens: text, marks, terms and words that are not known."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from fairseq.data import data_utils
from fairseq.token_generation_constraints import unpack_constraints
from torch import Tensor

from ...errors import UserError
from ...tasks.post_editing import PostEditingTask
from .joining import Joining
from .markup import JOINED, KEEP, Mark, parse_markup, token_marks, whole_words
from .oov import OOVWords
from .task_config import TranslationEditConfig


class Draft(NamedTuple):
    """N tokens of a draft with <s> and </s>, and the bits of the marks on each."""

    tokens: Tensor
    marks: Tensor


class DraftEncoding(PostEditingTask):
    """What a task with a placeholder knows of drafts."""

    cfg: TranslationEditConfig
    placeholder: int

    def new_oov_words(self) -> OOVWords:
        """Where :meth:`encode_draft` numbers the words of one batch that are not known."""
        return OOVWords(self.tgt_dict, self.placeholder + 1)

    def encode_draft(
        self,
        text: str,
        encode_fn: Callable[[str], str],
        markup: bool | None = None,
        oov_words: OOVWords | None = None,
    ) -> Draft:
        """A draft's tokens with <s> and </s>, and the marks on them.

        Args:
            markup: whether the text has marks; by default what ``--markup`` says.
            oov_words: gives words that are not known their numbers, above the dictionary's: they
                are read as <unk> and can be written as they came. Without it they are <unk>.

        Raises:
            UserError: marks that cannot be read, or a term with a word that is not known.
        """
        if self.cfg.markup if markup is None else markup:
            return self._coded(*parse_markup(text), encode_fn, oov_words)
        return self._coded(text, [], encode_fn, oov_words)

    def _coded(
        self,
        plain: str,
        spans: Sequence[Mark],
        encode_fn: Callable[[str], str],
        oov_words: OOVWords | None = None,
    ) -> Draft:
        """A draft from its plain text and the marks on it.

        Marks on more tokens than are read are not placed, which would take the square of their
        number: such a draft is refused, or skipped, for its length.
        """
        if spans and len(encode_fn(plain).split()) + 2 > self.cfg.max_target_positions:
            spans = []
        words, bits = token_marks(plain, spans, encode_fn)
        terms = [mark for mark in spans if mark.kind == "term"]
        tokens = [self._draft_token(word, oov_words) for word in words]
        for word, token, bit in zip(words, tokens, bits):
            if terms and bit & KEEP and not self._knows(token):
                self._refuse_unknown(word, terms, plain, encode_fn)
        if any(bits):
            bits = whole_words(words, bits, self.joining)
        bos, eos = self.tgt_dict.bos(), self.tgt_dict.eos()
        return Draft(torch.tensor([bos, *tokens, eos]), torch.tensor([0, *bits, 0]))

    @functools.cached_property
    def joining(self) -> Joining:
        """How tokens of the target join into words."""
        return Joining(self.tgt_dict.symbols[: self.placeholder])

    def encode_terms(
        self,
        terms: Sequence[str],
        encode_fn: Callable[[str], str],
        oov_words: OOVWords | None = None,
    ) -> Draft:
        """Terms as the draft to start from, each to stay whole (Susanto et al., 2020).

        Args:
            oov_words: as of :meth:`encode_draft`, for what stands between terms.

        Raises:
            UserError: an empty term, or a word that is not known.
        """
        text, marks = "", []
        for term in terms:
            if not term.strip():
                raise UserError("a term is empty; leave it out, or give its text")
            text += " " if text else ""
            marks.append(Mark(len(text), len(text) + len(term), "term"))
            text += term
        return self._coded(text, marks, encode_fn, oov_words)

    def _draft_token(self, word: str, oov_words: OOVWords | None) -> int:
        token: int = self.tgt_dict.index(word)
        if self._knows(token):
            return token
        return self.tgt_dict.unk() if oov_words is None else oov_words.number(word)

    def _knows(self, token: int) -> bool:
        """Whether it stands for text; a special symbol typed as text is not a special symbol."""
        return self.tgt_dict.nspecial <= token < self.placeholder

    def _refuse_unknown(
        self, word: str, terms: Sequence[Mark], text: str, encode_fn: Callable[[str], str]
    ) -> None:
        for term in terms:
            shown = text[term.start : term.end]
            if word in encode_fn(shown).split():
                raise UserError(
                    f"the term {shown!r} has {word!r}, which is not in the vocabulary; the model "
                    "cannot place what it does not know: choose another word, or mark it [=…=] in "
                    "a draft"
                )

    def _check_terms(self, constraints: Tensor) -> None:
        for number, packed in enumerate(constraints, start=self.lines_before + 1):
            for term in unpack_constraints(packed):
                words = term.ge(self.tgt_dict.nspecial) & term.lt(self.placeholder)
                if not len(term) or not words.all():
                    raise UserError(
                        f"input line {number}: a term of --constraints is empty or has a word that "
                        "is not in the vocabulary; choose another word"
                    )

    def _drafts_of_terms(self, constraints: Tensor) -> Tensor:
        """Packed terms → drafts and marks, B × 2 × N: the terms in their order, each whole."""
        bos, eos, pad = self.tgt_dict.bos(), self.tgt_dict.eos(), self.tgt_dict.pad()
        drafts, marks = [], []
        for packed in constraints.cpu():
            terms = unpack_constraints(packed)
            inside = [
                whole_words(
                    [self.tgt_dict[token] for token in term.tolist()],
                    [KEEP | JOINED] * (len(term) - 1) + [KEEP],
                    self.joining,
                )
                for term in terms
            ]
            drafts.append(torch.tensor([bos, *(t for term in terms for t in term.tolist()), eos]))
            marks.append(torch.tensor([0, *(bit for bits in inside for bit in bits), 0]))
        sides = (data_utils.collate_tokens(drafts, pad), data_utils.collate_tokens(marks, 0))
        return torch.stack(sides, 1).to(constraints.device)

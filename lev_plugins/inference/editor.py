"""The Python interface: load a checkpoint, edit text.

>>> from lev_plugins import LevenshteinEditor
>>> editor = LevenshteinEditor.from_pretrained("checkpoints")
>>> editor.edit(["a source"], ["its draft"])[0].text
"""

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from ..data.batch import TextEncoder
from ..data.batching import in_batches
from ..errors import UserError
from ..fairseq_patches.checkpoints import wrap_checkpoint_errors
from ..io.lines import say_no_draft
from ..nn.precision import quantize
from ..systems.levenshtein import LevenshteinEditorModel
from ..systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from ..systems.levenshtein.decoding.history import EditTrace
from ..systems.levenshtein.markup import parse_markup
from ..systems.levenshtein.task import TranslationEditTask
from .checkpoints import (
    CheckpointState,
    device_named,
    editing_task,
    find_checkpoints,
    load_model,
    load_state,
    text_encoders,
)
from .sentences import Sentence, Terms, collated, read_rows


class LevenshteinEditor:
    """A trained model, its dictionaries and its text processing; several threads may use one.

    Args:
        models: ``levenshtein_editor`` models; the probabilities of several are averaged.
        task: the ``translation_edit`` task that it belongs to.
        tokenizer, bpe: fairseq's text encoders, or None.
    """

    def __init__(
        self,
        models: Sequence[LevenshteinEditorModel],
        task: TranslationEditTask,
        tokenizer: TextEncoder | None = None,
        bpe: TextEncoder | None = None,
    ) -> None:
        self.models = [one.eval() for one in models]
        self.task = task
        self.tokenizer, self.bpe = tokenizer, bpe
        self._told = False  # whether it was noted that there are no drafts

    @classmethod
    def from_pretrained(
        cls,
        path: str | os.PathLike[str],
        data: str | os.PathLike[str] | None = None,
        device: str | torch.device | None = None,
        precision: str = "fp32",
        **overrides: Any,
    ) -> "LevenshteinEditor":
        """Loads a checkpoint.

        Args:
            path: a checkpoint, or a folder with checkpoint_best.pt, checkpoint_last.pt or
                model.pt (the first that is there); several joined by ``:`` are averaged.
            data: folder with the dictionaries; by default those that the checkpoint carries.
            device: such as ``cuda``; the CPU by default.
            precision: fp32, bf16 or int8 (CPU); less is faster and may change outputs.
            **overrides: text processing as in fairseq, such as ``bpe="sentencepiece"``,
                ``sentencepiece_model=…``, ``tokenizer="moses"``; by default what the model was
                trained with. ``bpe="none"``, or None: the text is cut already; so ``tokenizer``.

        Raises:
            UserError: no checkpoint there, one that cannot be read, of another kind, or with
                other dictionaries; a device that is not here.
            TypeError: an option that fairseq's text processing does not have.
        """
        place, paths = device_named(device), find_checkpoints(os.fspath(path))
        state = load_state(paths[0])
        return cls.from_state(state, paths, data, place, precision, overrides)

    @classmethod
    def from_state(
        cls,
        state: CheckpointState,
        paths: Sequence[str],
        data: str | os.PathLike[str] | None,
        place: torch.device,
        precision: str = "fp32",
        overrides: Mapping[str, Any] = MappingProxyType({}),
    ) -> "LevenshteinEditor":
        """:meth:`from_pretrained` where the first of the checkpoints has been read."""
        with wrap_checkpoint_errors(paths[0]):
            task = editing_task(state, paths[0], data)
        states = [state, *map(load_state, paths[1:])]
        loaded = (
            load_model(one, task, its, LevenshteinEditorModel) for one, its in zip(paths, states)
        )
        models = [model.to(place) for model in loaded]
        tokenizer, bpe = text_encoders(state["cfg"], overrides, paths, data)
        quantize(models, precision)
        return cls(models, task, tokenizer, bpe)

    def __repr__(self) -> str:
        size = sum(parameter.numel() for parameter in self.models[0].parameters())
        count = f"{len(self.models)} × {size:,} parameters"
        return f"LevenshteinEditor({count}, task translation_edit, device {self.device})"

    @property
    def device(self) -> torch.device:
        """Where the models are."""
        return next(self.models[0].parameters()).device

    @property
    def draft_lang(self) -> str | None:
        """Suffix of the drafts that the model was trained with, None without."""
        return self.task.cfg.draft_lang

    @property
    def limits(self) -> tuple[int, ...]:
        """The longest source and draft that the task and all models read."""
        limits = [self.task.max_positions(), *(one.max_positions() for one in self.models)]
        return tuple(min(sizes) for sizes in zip(*limits))

    def edit_nbest(
        self, sources: Iterable[str], drafts: Iterable[str | None] | None = None, nbest: int = 1, *,
        max_iter: int = 10, batch_size: int = 64, empty_penalty: float | None = None,
        delete_threshold: float | None = None, candidates: int | None = None,
        noise_scale: float = 0.5, seed: int = 1, markup: bool = False, terms: Terms | None = None,
        hard_terms: bool = True, old_sources: Iterable[str | None] | None = None,
    ) -> list[list[EditTrace]]:  # fmt: skip
        """An n-best list for every source, the best first, none twice.

        Args:
            sources: plain text, one sentence each.
            drafts: a draft or None for every source; None where there are no drafts at all.
            nbest, candidates: given back at most, and made for each source (default: as many).
            batch_size: sentences decoded at once; does not change the outputs.
            max_iter, empty_penalty, delete_threshold, noise_scale, seed: of
                :class:`.RefinementOptions`; the threshold is the task's by default.
            markup: drafts have marks: ``[=stays=]``, ``[-goes-]``, ``[+term+]``
                (:mod:`lev_plugins.systems.levenshtein.markup`).
            terms: for every source the terms to start from, in their order, or None; such a
                source has no draft. With ``hard_terms`` each is in the output, whole; else the
                model may delete them.
            old_sources: for every source the older one that its draft translates, or None, for a
                model that was trained with ``--old-source``.

        Raises:
            UserError: as many drafts (terms) as sources are needed, all of them strings; an option
                that cannot be; a sentence beyond the model's limit; marks that cannot be read; a
                hard term that is not in the vocabulary.
        """
        count = nbest if candidates is None else candidates
        generator = self.generator(
            delete_threshold, empty_penalty=empty_penalty or 0.0, max_iter=max_iter,
            candidates=count, noise_scale=noise_scale, seed=seed, nbest=nbest,
            retain_history=True,
        )  # fmt: skip
        rows = read_rows(sources, drafts, terms, old_sources)
        lang = self.draft_lang if drafts is None and terms is None else None
        if rows and lang and not self._told:
            say_no_draft("no drafts were given", lang, "Give edit(sources, drafts)")
            self._told = True
        sentences = [
            self._sentence(number, *row, markup, hard_terms)
            for number, row in enumerate(rows, start=1)
        ]
        sizes = (len(one.tokens) + len(one.coded.tokens) for one in sentences)
        work = functools.partial(self._decode, generator)
        return in_batches(work, sentences, sizes, batch_size)

    def edit(
        self, sources: Iterable[str], drafts: Iterable[str | None] | None = None, **options: Any
    ) -> list[EditTrace]:
        """Edits every draft, or writes an output for every source that has none.

        Options and errors are those of :meth:`edit_nbest`.

        Returns:
            the best trace for every source, in order: text, score (in nats: of one candidate the
            mean over tokens of the log-probability of what put or kept each, of several
            :class:`.RefinementGenerator` rates them) and the iterations.
        """
        return [best for best, *_ in self.edit_nbest(sources, drafts, **options)]

    def generator(
        self, delete_threshold: float | None = None, **options: Any
    ) -> RefinementGenerator:
        """A generator with options of :class:`RefinementOptions`."""
        if delete_threshold is None:
            delete_threshold = self.task.cfg.delete_threshold
        chosen = RefinementOptions(
            delete_threshold=0.5 if delete_threshold is None else delete_threshold,
            max_len_b=max(200, self.task.cfg.max_target_positions),
            **options,
        )
        return RefinementGenerator(self.task.tgt_dict, self.task.placeholder, chosen)

    def _decode(
        self, generator: RefinementGenerator, sentences: Sequence[Sentence]
    ) -> list[list[EditTrace]]:
        """The n-best of one batch."""
        sides = [one.tokens for one in sentences], [one.coded for one in sentences]
        batch = collated(*sides, self.task.tgt_dict.pad(), self.device)
        found = generator.generate(self.models, batch)
        return [
            [sentence.trace(self._text(sentence.symbols(one)), one) for one in hypotheses]
            for sentence, hypotheses in zip(sentences, found, strict=True)
        ]

    # text and tokens --------------------------------------------------------------------------

    def _sentence(
        self,
        number: int,
        source: str,
        draft: str | None,
        terms: Sequence[str] | None,
        old: str | None,
        markup: bool,
        hard: bool,
    ) -> Sentence:
        """A sentence as tokens, none longer than the model's limits; ``number`` counts from 1."""
        if draft is not None and terms:
            raise UserError(
                f"sentence {number} has a draft and terms; mark the terms in the draft: [+term+]"
            )
        text, markup = " ".join(terms) if terms else draft or "", markup and not terms
        try:
            if terms and hard:
                coded = self.task.encode_terms(terms, self._cut)
            else:
                coded = self.task.encode_draft(text, self._cut, markup)
            marked = self.task.mark_change(source, old)
        except UserError as error:
            raise UserError(f"sentence {number}: {error}") from error
        words = self._cut(parse_markup(text)[0] if markup else text).split()
        tokens = self.task.encode_text(marked, self._cut, self.task.src_dict)
        for name, side, limit in zip(("source", "draft"), (tokens, coded.tokens), self.limits):
            if len(side) > limit:
                raise UserError(
                    f"{name} {number} has {len(side)} tokens where the model's limit is {limit}; "
                    "split it into sentences"
                )
        return Sentence(source, draft, words, tokens, coded, self.task.tgt_dict)

    def _cut(self, text: str) -> str:
        if self.tokenizer or self.bpe:  # most of them fail at half of a surrogate pair
            text = text.encode("utf-8", "replace").decode()
        text = self.tokenizer.encode(text) if self.tokenizer else text
        return self.bpe.encode(text) if self.bpe else text

    def _text(self, symbols: Sequence[str]) -> str:
        text = " ".join(symbols)
        text = self.bpe.decode(text) if self.bpe else text
        return self.tokenizer.decode(text) if self.tokenizer else text

"""The Python interface: load a checkpoint, edit text.

>>> from lev_plugins import LevenshteinEditor
>>> editor = LevenshteinEditor.from_pretrained("checkpoints")
>>> editor.edit(["a source"], ["its draft"])[0].text
"""

import functools
import os
from collections.abc import Iterable, Sequence
from typing import Any, Self

import torch
from torch.nn.utils.rnn import pad_sequence

from ..data.batch import Batch, TextEncoder
from ..data.batching import in_batches
from ..errors import UserError
from ..fairseq_patches.checkpoints import wrap_checkpoint_errors
from ..nn.precision import prepare_for_decoding
from ..systems.levenshtein import LevenshteinEditorModel
from ..systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from ..systems.levenshtein.decoding.history import EditTrace
from ..systems.levenshtein.decoding.records import EditHypothesis
from ..systems.levenshtein.markup import parse_markup
from ..systems.levenshtein.task import TranslationEditTask
from .checkpoints import (
    device_named,
    editing_task,
    find_checkpoint,
    load_model,
    load_state,
    text_encoders,
)
from .sentences import Sentence, Terms, read_rows


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
        self.models, self.task = [model.eval() for model in models], task
        self.tokenizer, self.bpe = tokenizer, bpe

    @classmethod
    def from_pretrained(
        cls,
        path: str | os.PathLike[str],
        data: str | os.PathLike[str] | None = None,
        device: str | torch.device | None = None,
        precision: str = "fp32",
        state: Any = None,
        **overrides: Any,
    ) -> Self:
        """Loads a checkpoint.

        Args:
            path: a checkpoint, or a folder with checkpoint_best.pt, checkpoint_last.pt or
                model.pt (the first that is there).
            data: folder with the dictionaries; by default those that the checkpoint carries.
            device: such as ``cuda``; the CPU by default.
            precision: fp32, bf16 or int8 (CPU); less is faster and may change outputs.
            state: what the checkpoint holds, where it has been read.
            **overrides: text processing as in fairseq, such as ``bpe="sentencepiece"``,
                ``sentencepiece_model=…``, ``tokenizer="moses"``; by default what the model was
                trained with. ``bpe="none"``, or None: the text is cut already; so ``tokenizer``.

        Raises:
            UserError: no checkpoint there, one that cannot be read, of another kind, or with
                other dictionaries; a device that is not here.
            TypeError: an option that fairseq's text processing does not have.
        """
        place, path = device_named(device), find_checkpoint(path)
        state = state or load_state(path)
        with wrap_checkpoint_errors(path):
            task = editing_task(state, path, data)
        model = load_model(path, task, state, LevenshteinEditorModel).to(place)
        encoders = text_encoders(state["cfg"], overrides, [path], data)
        prepare_for_decoding([model], precision)
        return cls([model], task, *encoders)

    @property
    def device(self) -> torch.device:
        """Where the models are."""
        return next(self.models[0].parameters()).device

    @property
    def limits(self) -> tuple[int, ...]:
        """The longest source and draft that the task and all models read."""
        limits = [self.task.max_positions(), *(model.max_positions() for model in self.models)]
        return tuple(min(sizes) for sizes in zip(*limits))

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
                :class:`.RefinementOptions`; the threshold is the task's by default.
            markup: drafts have marks: ``[=stays=]``, ``[-goes-]``, ``[+term+]``
                (:mod:`lev_plugins.systems.levenshtein.markup`).
            terms: for every source those that have to be in its output, each whole, in their order,
                or None; such a source has no draft.
            old_sources: for every source the older one that its draft translates, or None, for a
                model that was trained with ``--old-source``.
            history: whether traces have their iterations, which take time to read.

        Raises:
            UserError: lists of other lengths, or of what is no text; an option that cannot be; a
                sentence beyond the model's limit; marks that cannot be read; an unknown term.
        """
        threshold = (delete_threshold, self.task.cfg.delete_threshold, 0.5)
        options = RefinementOptions(
            max_iter, empty_penalty or 0.0, next(value for value in threshold if value is not None),
            max_len_b=max(200, self.task.cfg.max_target_positions), candidates=candidates or nbest,
            nbest=nbest, noise_scale=noise_scale, seed=seed, retain_history=history,
        )  # fmt: skip
        generator = RefinementGenerator(self.task.tgt_dict, self.task.placeholder, options)
        rows = read_rows(sources, drafts, terms, old_sources)
        sentences = []
        for number, row in enumerate(rows, start=1):
            try:
                sentences.append(self._sentence(*row, markup))
            except UserError as error:
                raise UserError(f"sentence {number}: {error}") from error
        sizes = (len(sentence.tokens) + len(sentence.coded.tokens) for sentence in sentences)
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

    def _decode(
        self, generator: RefinementGenerator, sentences: Sequence[Sentence]
    ) -> list[list[EditTrace]]:
        """The n-best of one batch."""
        pad = self.task.tgt_dict.pad()
        rows = zip(*((sentence.tokens, *sentence.coded) for sentence in sentences), strict=True)
        tokens, draft, marks = (
            pad_sequence(list(side), batch_first=True, padding_value=fill).to(self.device)
            for side, fill in zip(rows, (pad, pad, 0))
        )
        inputs = {"src_tokens": tokens, "src_lengths": None}
        batch: Batch = {"net_input": inputs, "draft": draft, "marks": marks}
        results = generator.generate(self.models, batch)
        return [
            [self._trace(sentence, hypothesis) for hypothesis in hypotheses]
            for sentence, hypotheses in zip(sentences, results, strict=True)
        ]

    def _trace(self, sentence: Sentence, hypothesis: EditHypothesis) -> EditTrace:
        text = self._text(sentence.symbols(hypothesis))
        return sentence.trace(text, hypothesis)

    # text and tokens --------------------------------------------------------------------------

    def _sentence(
        self,
        source: str,
        draft: str | None,
        terms: Sequence[str] | None,
        old: str | None,
        markup: bool,
    ) -> Sentence:
        """A sentence as tokens, none longer than the model's limits."""
        if draft is not None and terms:
            raise UserError("has a draft and terms; mark the terms in the draft: [+term+]")
        if terms:
            plain, coded = " ".join(terms), self.task.encode_terms(terms, self._cut)
        else:
            plain = parse_markup(draft or "")[0] if markup else draft or ""
            coded = self.task.encode_draft(draft or "", self._cut, markup)
        marked, words = self.task.mark_change(source, old), self._cut(plain).split()
        tokens = self.task.encode_text(marked, self._cut, self.task.src_dict)
        for name, side, limit in zip(("source", "draft"), (tokens, coded.tokens), self.limits):
            if len(side) > limit:
                raise UserError(f"{len(side)} {name} tokens where the model's limit is {limit}")
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

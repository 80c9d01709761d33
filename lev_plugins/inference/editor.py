"""The Python interface: load a checkpoint, edit text.

>>> from lev_plugins import LevenshteinEditor
>>> editor = LevenshteinEditor.from_pretrained("checkpoints")
>>> editor.edit(["a source"], ["its draft"])[0].text
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from fairseq.models import FairseqEncoderDecoderModel

from ..data.batch import TextEncoder
from ..data.batching import in_batches
from ..deprecation import renamed_arguments
from ..errors import UserError, checks_arguments
from ..fairseq_patches import wrap_checkpoint_errors
from ..io.notes import say_no_draft
from ..nn.precision import quantize
from ..systems.levenshtein import LevenshteinEditorModel
from ..systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from ..systems.levenshtein.decoding.diversity import Diversity
from ..systems.levenshtein.decoding.history import EditTrace
from ..systems.levenshtein.decoding.state import EditHypothesis
from ..systems.levenshtein.markup import parse_markup
from ..systems.levenshtein.task import TranslationEditTask
from .checkpoints import (
    device_named,
    editing_task,
    find_checkpoint,
    find_checkpoints,
    load_model,
    load_state,
    text_encoders,
    text_processing,
)
from .editing import Row, Terms, check_decoding, read_rows
from .sentences import Item, collated


class LevenshteinEditor:
    """A trained model, its dictionaries and its text processing.

    Nothing that it edits with changes meanwhile, so several threads may use one at once.

    Args:
        models: ``levenshtein_editor`` models; the probabilities of several are averaged.
        task: the ``translation_edit`` task that it belongs to.
        tokenizer, bpe: fairseq's text encoders, or None.
        reranker: an autoregressive fairseq model that ranks n-best lists, or None.
    """

    def __init__(
        self,
        models: Sequence[LevenshteinEditorModel],
        task: TranslationEditTask,
        tokenizer: TextEncoder | None = None,
        bpe: TextEncoder | None = None,
        reranker: FairseqEncoderDecoderModel | None = None,
    ) -> None:
        self.models = [one.eval() for one in models]
        self.task = task
        self.tokenizer, self.bpe = tokenizer, bpe
        self.reranker = reranker
        self._told = False  # whether it was noted that there are no drafts

    @classmethod
    @checks_arguments(text_processing)
    def from_pretrained(
        cls,
        path: str,
        data: str | None = None,
        device: str | torch.device | None = None,
        reranker: str | None = None,
        precision: str = "fp32",
        **overrides: Any,
    ) -> "LevenshteinEditor":
        """Loads a checkpoint.

        Args:
            path: a checkpoint, or a folder with checkpoint_best.pt, checkpoint_last.pt or
                model.pt (the first that is there); several joined by ``:`` are averaged.
            data: folder with the dictionaries; by default those that the checkpoint carries.
            device: such as ``cuda``; the CPU by default.
            reranker: checkpoint of an autoregressive model with the same dictionaries, which
                ranks n-best lists (§3.3).
            precision: fp32, bf16 or int8 (CPU); less is faster and may change outputs.
            **overrides: text processing as in fairseq, such as ``bpe="sentencepiece"``,
                ``sentencepiece_model=…``, ``bpe="characters"``, ``tokenizer="moses"``; by default
                what the model was trained with on the command line.

        Raises:
            UserError: no checkpoint there, one that cannot be read, of another kind, or with
                other dictionaries; a device that is not here; an argument that is not known.
        """
        place = device_named(device)
        paths = find_checkpoints(path)
        state = load_state(paths[0])
        with wrap_checkpoint_errors(paths[0]):
            task = editing_task(state, paths[0], data)
        models = [
            load_model(one, task, state if one == paths[0] else load_state(one)) for one in paths
        ]
        ranking = None
        if reranker is not None:
            ranking = load_model(reranker, task, load_state(find_checkpoint(reranker)), edits=False)
            ranking.to(place)
        tokenizer, bpe = text_encoders(state["cfg"], overrides, paths, data)
        for model in models:
            model.to(place)
        quantize(models, precision)
        return cls(models, task, tokenizer, bpe, ranking)

    def __repr__(self) -> str:
        count = f"{len(self.models)} models" if len(self.models) > 1 else "1 model"
        size = sum(parameter.numel() for parameter in self.models[0].parameters())
        kinds = f"{type(self.models[0]).__name__}, {count} of {size:,} parameters"
        name = getattr(self.task.cfg, "_name", None) or "translation_edit"
        return f"LevenshteinEditor({kinds}, task {name}, device {self.device})"

    @property
    def device(self) -> torch.device:
        """Where the models are."""
        return next(self.models[0].parameters()).device

    @property
    def draft_lang(self) -> str | None:
        """Suffix of the drafts that the model was trained with, None without."""
        draft_lang: str | None = self.task.cfg.draft_lang
        return draft_lang

    @property
    def limits(self) -> tuple[int, ...]:
        """The longest source and draft that the task and all models read."""
        limits = (one.max_positions() for one in (self.task, *self.models))
        return tuple(min(sizes) for sizes in zip(*limits))

    @renamed_arguments(answers="candidates")
    @checks_arguments(nbest="edit() gives one output for each source; use edit_nbest()")
    def edit(
        self,
        sources: Iterable[str],
        drafts: Iterable[str | None] | None = None,
        *,
        max_iter: int = 10,
        batch_size: int = 64,
        empty_penalty: float | None = None,
        delete_threshold: float | None = None,
        candidates: int | None = None,
        noise_scale: float = 0.5,
        seed: int = 1,
        markup: bool = False,
        terms: Terms | None = None,
        hard_terms: bool = True,
        history: bool = True,
    ) -> list[EditTrace]:
        """Edits every draft, or writes an output for every source that has none.

        Args:
            sources: plain text, one sentence each; half of a surrogate pair is a question mark to
                what cuts the text.
            drafts: a draft or None for every source; None where there are no drafts at all.
            max_iter … history: as of :meth:`edit_nbest`.

        Returns:
            a trace for every source, in order: text, score (in nats: with one answer made
            the mean over tokens of the log-probability of what put or kept each, with several
            :func:`.decoding.generator.rate`) and the iterations.

        Raises:
            UserError: as :meth:`edit_nbest`.
        """
        found = self.edit_nbest(
            sources,
            drafts,
            nbest=1,
            max_iter=max_iter,
            batch_size=batch_size,
            empty_penalty=empty_penalty,
            delete_threshold=delete_threshold,
            candidates=candidates,
            noise_scale=noise_scale,
            seed=seed,
            markup=markup,
            terms=terms,
            hard_terms=hard_terms,
            history=history,
        )
        return [best for best, *_ in found]

    @renamed_arguments(answers="candidates")
    @checks_arguments()
    def edit_nbest(
        self,
        sources: Iterable[str],
        drafts: Iterable[str | None] | None = None,
        nbest: int = 1,
        *,
        max_iter: int = 10,
        batch_size: int = 64,
        empty_penalty: float | None = None,
        delete_threshold: float | None = None,
        candidates: int | None = None,
        noise_scale: float = 0.5,
        seed: int = 1,
        markup: bool = False,
        terms: Terms | None = None,
        hard_terms: bool = True,
        history: bool = True,
    ) -> list[list[EditTrace]]:
        """An n-best list for every source, the best first, none twice.

        Args:
            sources, drafts: as in :meth:`edit`.
            nbest: candidates given back at most.
            max_iter: T_max, iterations at most.
            batch_size: sentences decoded at once; does not change the outputs.
            empty_penalty: γ in [0, 3], makes longer outputs likelier (paper, §3.3); default: 0.
            delete_threshold: probability above which a token is deleted; default: the task's.
            candidates: candidates made for each source, ``nbest`` by default; the first is that of
                plain decoding.
            noise_scale, seed: of the noise by which they differ
                (:class:`~.decoding.diversity.Diversity`).
            markup: drafts have marks: ``[=stays=]``, ``[-goes-]``, ``[+term+]``
                (:mod:`lev_plugins.systems.levenshtein.markup`).
            terms: for every source the terms to start from, in their order, or None; such a
                source has no draft. With ``hard_terms`` each is in the output, whole; else the
                model may delete them.
            history: False leaves ``iterations`` empty, which takes a little less time.

        Raises:
            UserError: as many drafts (terms) as sources are needed, all of them strings; an option
                that cannot be; a sentence beyond the model's limit; marks that cannot be read; a
                hard term that is not in the vocabulary.
        """
        count = nbest if candidates is None else candidates
        check_decoding(
            max_iter=max_iter,
            batch_size=batch_size,
            nbest=nbest,
            candidates=count,
            empty_penalty=empty_penalty,
            delete_threshold=delete_threshold,
            noise_scale=noise_scale,
            seed=seed,
        )
        rows = read_rows(sources, drafts, terms)
        if rows and drafts is None and terms is None and self.draft_lang and not self._told:
            say_no_draft("no drafts were given", self.draft_lang, "Give edit(sources, drafts)")
            self._told = True
        items = self._items(rows, markup, hard_terms)
        generator = self.generator(
            delete_threshold,
            empty_penalty,
            max_iter=max_iter,
            diversity=Diversity(count, noise_scale, seed),
            nbest=nbest,
            retain_history=history,
        )
        return self._decode(generator, items, batch_size)

    def generator(
        self,
        delete_threshold: float | None = None,
        empty_penalty: float | None = None,
        **options: Any,
    ) -> RefinementGenerator:
        """A generator with options of :class:`RefinementOptions`."""
        if delete_threshold is None:
            delete_threshold = self.task.cfg.delete_threshold
        return RefinementGenerator(
            self.task.tgt_dict,
            self.task.placeholder,
            RefinementOptions(
                delete_threshold=0.5 if delete_threshold is None else delete_threshold,
                empty_penalty=empty_penalty or 0.0,
                max_len_b=max(200, self.task.cfg.max_target_positions),
                external_reranker=self.reranker is not None,
                **options,
            ),
        )

    def _decode(
        self, generator: RefinementGenerator, items: list[Item], batch_size: int
    ) -> list[list[EditTrace]]:
        models = self.models if self.reranker is None else [*self.models, self.reranker]
        pad = self.task.tgt_dict.pad()

        def traces(some: Sequence[Item]) -> list[list[EditTrace]]:
            sides = [one.tokens for one in some], [one.coded for one in some]
            found = generator.generate(models, collated(*sides, pad, self.device))
            return [
                [self._trace(item, hypothesis) for hypothesis in hypotheses]
                for item, hypotheses in zip(some, found, strict=True)
            ]

        return in_batches(traces, items, (item.size for item in items), batch_size)

    # text to tokens ---------------------------------------------------------------------------

    def _apply(self, text: str) -> str:
        if self.tokenizer or self.bpe:  # most of them fail at half of a surrogate pair
            text = text.encode("utf-8", "replace").decode()
        text = self.tokenizer.encode(text) if self.tokenizer else text
        return self.bpe.encode(text) if self.bpe else text

    def _items(self, rows: Sequence[Row], markup: bool, hard: bool) -> list[Item]:
        """Sentences as tokens, none longer than the model's limits."""
        items = [self._item(number, *row, markup, hard) for number, row in enumerate(rows, start=1)]
        for number, item in enumerate(items, start=1):
            sides = (item.tokens, item.coded.tokens)
            for name, tokens, limit in zip(("source", "draft"), sides, self.limits):
                if len(tokens) > limit:
                    raise UserError(
                        f"{name} {number} has {len(tokens)} tokens where the model's limit is "
                        f"{limit}; split it into sentences"
                    )
        return items

    def _item(
        self,
        number: int,
        source: str,
        draft: str | None,
        terms: Sequence[str] | None,
        markup: bool,
        hard: bool,
    ) -> Item:
        """A sentence as tokens; ``number`` counts from 1."""
        if draft is not None and terms:
            raise UserError(
                f"sentence {number} has a draft and terms; mark the terms in the draft, as "
                "[+term+] with markup=True"
            )
        text = " ".join(terms) if terms else draft or ""
        marked = markup and not terms
        try:
            if terms and hard:
                coded = self.task.encode_terms(terms, self._apply)
            else:
                coded = self.task.encode_draft(text, self._apply, marked)
        except UserError as error:
            raise UserError(f"sentence {number}: {error}") from error
        tokens = self.task.encode_text(source, self._apply, self.task.src_dict)
        words = self._apply(parse_markup(text)[0] if marked else text).split()
        return Item(source, draft, tokens, coded, words, self.task.tgt_dict)

    # tokens to text ---------------------------------------------------------------------------

    def _trace(self, item: Item, hypothesis: EditHypothesis) -> EditTrace:
        return EditTrace(
            source=item.source,
            draft=item.draft,
            text=self._text(item.symbols(hypothesis)),
            score=hypothesis["score"],
            iterations=tuple(item.iterations(hypothesis["history"])),
            terminated=hypothesis["terminated"],
        )

    def _text(self, symbols: Sequence[str]) -> str:
        text = " ".join(symbols)
        text = self.bpe.decode(text) if self.bpe else text
        return self.tokenizer.decode(text) if self.tokenizer else text

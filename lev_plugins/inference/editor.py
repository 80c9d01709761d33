"""The Python interface: load a checkpoint, edit text."""

import os
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch.nn.utils.rnn import pad_sequence

from lev_runtime.errors import UserError
from lev_runtime.history import EditHypothesis
from lev_runtime.refine import options as runtime_options
from lev_runtime.text.codec import TextProcessing
from lev_runtime.text.sentences import Decode, Draft, Sentence, TextEditor
from lev_runtime.text.source_change import read_change

from ..data.batch import Batch, TextEncoder
from ..nn.precision import prepare_for_decoding
from ..systems.levenshtein import LevenshteinEditorModel
from ..systems.levenshtein.generator import RefinementGenerator, RefinementOptions
from ..systems.levenshtein.task import TranslationEditTask
from .checkpoints import (
    device_named,
    find_checkpoint,
    load_model,
    load_state,
    load_task,
    text_encoders,
)


class LevenshteinEditor(TextEditor):
    """A trained model, its dictionaries and its text processing; several threads may use one.

    >>> from lev_plugins import LevenshteinEditor
    >>> editor = LevenshteinEditor.from_pretrained("levt.pt")
    >>> [trace] = editor.edit(["a source"], ["its draft"], max_iter=1)
    >>> trace.draft, trace.iterations[0].before
    ('its draft', ('its', 'draft'))

    Args:
        models: ``levenshtein_editor`` models; the probabilities of several are averaged.
        task: the ``translation_edit`` task that it belongs to.
        tokenizer, bpe: fairseq's text encoders, or None.
    """

    prices = None  # groups gained nothing at 64 sentences on a CPU; on a GPU a call costs far more

    def __init__(
        self,
        models: Sequence[LevenshteinEditorModel],
        task: TranslationEditTask,
        tokenizer: TextEncoder | None = None,
        bpe: TextEncoder | None = None,
    ) -> None:
        self.models = [model.eval() for model in models]
        self.task = task
        self.tokenizer = tokenizer
        self.bpe = bpe
        self.delete_threshold = task.delete_threshold
        self.max_len_b = max(self.max_len_b, task.cfg.max_target_positions)
        self.dictionary = task.tgt_dict
        self.symbols = task.symbols
        self.unknown = task.tgt_dict.unk_word
        limits = [task.max_positions(), *(model.max_positions() for model in models)]
        self.limits = tuple(min(sizes) for sizes in zip(*limits))

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
            precision: fp32 or bf16, which is faster and may change outputs.
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
        task = load_task(state, path, data)
        if not isinstance(task, TranslationEditTask):
            raise UserError(f"{path} was trained with another task, not translation_edit")
        model = load_model(path, task, state, LevenshteinEditorModel).to(place)
        encoders = text_encoders(state["cfg"], overrides, [path], data)
        prepare_for_decoding([model], precision)
        return cls([model], task, *encoders)

    @property
    def device(self) -> torch.device:
        """Returns the device of the models."""
        return next(self.models[0].parameters()).device

    @property
    def text_processing(self) -> TextProcessing:
        """See the base class."""
        return TextProcessing(self.tokenizer, self.bpe)

    def decoder(self, options: runtime_options.RefinementOptions) -> Decode:
        """See the base class."""
        refinement = RefinementOptions(**vars(options))
        generator = RefinementGenerator(self.task.tgt_dict, self.task.placeholder, refinement)
        pad = self.task.tgt_dict.pad()

        def padded(rows: list[Any], fill: int) -> torch.Tensor:
            tensors = list(map(torch.as_tensor, rows))
            return pad_sequence(tensors, batch_first=True, padding_value=fill).to(self.device)

        def decode(sentences: Sequence[Sentence]) -> list[list[EditHypothesis]]:
            tokens = padded([sentence.tokens for sentence in sentences], pad)
            draft = padded([sentence.coded.tokens for sentence in sentences], pad)
            marks = padded([sentence.coded.marks for sentence in sentences], 0)
            inputs = {"src_tokens": tokens, "src_lengths": None}
            batch: Batch = {"net_input": inputs, "draft": draft, "marks": marks}
            return generator.generate(self.models, batch)

        return decode

    def encode_draft(self, text: str, markup: bool) -> Draft:
        """See the base class."""
        words, tokens, marks = self.task.encode_draft(text, self._cut, markup)
        return Draft(words, tokens.tolist(), marks.tolist())

    def encode_source(self, source: str, old: str | None) -> torch.Tensor:
        """See the base class."""
        marked = read_change(source, old, self.task.old_source)
        return self.task.encode_text(marked, self._cut, self.task.src_dict)

    def _cut(self, text: str) -> str:
        if self.tokenizer or self.bpe:  # most of them fail at half of a surrogate pair
            text = text.encode("utf-8", "replace").decode()
        return " ".join(self.text_processing.tokens(text))

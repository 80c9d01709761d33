"""Models of fairseq's checkpoints in the corrector and its server.

This file alone imports lev_correct, which finds it by entry points (``lev_correct.backends``).
Shapes: B units, R prefixes of all units at one depth, V symbols.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from lev_correct import settings
from lev_correct.propose.backend import Answer, Backend, rewriting
from lev_correct.propose.editor import LevenshteinBackend
from lev_correct.propose.searching import Searching
from lev_correct.text.units import ModelUnit
from lev_runtime.batching import in_batches
from lev_runtime.beam.search import LONGEST_MORE, LONGEST_RATIO, Floats, Numbers
from lev_runtime.errors import UserError
from lev_runtime.labels.labeling import TextLabeler
from lev_runtime.text.codec import Tokens

from ..data.batch import Hypothesis
from ..systems.enct5.task import TASK as ENCT5
from .checkpoints import (
    EDITING,
    device_named,
    find_checkpoint,
    load_state,
    task_in,
    words_learnt,
)
from .editor import LevenshteinEditor
from .enct5 import EncT5
from .generation import GeneratingModel, is_generating, load_parts, subwords


def checkpoint_backend(
    path: str,
    data: str | None = None,
    device: str | torch.device | None = None,
    beam: int | None = None,
    precision: str = "fp32",
    processing: Mapping[str, Any] | None = None,
) -> Backend:
    """Loads a checkpoint; arguments and errors are those of ``load_backend`` of lev_correct."""
    text_options = processing or {}
    place, path = device_named(device), find_checkpoint(path)
    state = load_state(path)
    name = getattr(state["cfg"].task, "_name", None)
    if beam is not None and name in EDITING:
        raise UserError(f"beam={beam}: {path} is an edit model and has no beam search")
    backend: Generating | LevenshteinBackend
    if is_generating(state):
        parts = load_parts(path, state, data, text_options, by_letter=True)
        generator = parts.task.build_generator([parts.model], GenerationConfig())
        searches = isinstance(generator, SequenceGenerator)
        backend_class = Autoregressive if searches else Generating
        backend = backend_class(*parts, 5 if beam is None else beam or 1, place, precision)
        if beam == 0 and isinstance(backend, Searching):
            backend.beam = beam
    elif name in EDITING:
        editor = LevenshteinEditor.from_pretrained(
            path, data, place, precision, state=state, **text_options
        )
        editor.bpe, knows_spaces = subwords(
            (editor.tokenizer, editor.bpe), text_options, editor.task.src_dict
        )
        backend = LevenshteinBackend(editor, knows_spaces)
    else:
        raise UserError(
            f"{path} was trained with --task {name}; a corrector needs --task "
            "translation_edit, translation or a task derived from it"
        )
    backend.words_learnt = words_learnt(state)
    return backend


def checkpoint_labeler(path: str) -> Callable[..., TextLabeler] | None:
    """Returns what loads an EncT5, with ``device=``; None for a checkpoint of another kind."""
    if task_in(find_checkpoint(path)) != ENCT5:
        return None
    return functools.partial(EncT5.from_pretrained, path)


def settings_writer(checkpoint: str) -> Callable[[str], None]:
    """Returns a function that writes a corrector's settings and lists into a folder.

    They then load at once. It writes nothing where there are none next to the checkpoint.
    """
    tuned = settings.beside(checkpoint)
    use = settings.read(tuned) if tuned else None

    def write(folder: str) -> None:
        if use is not None:
            settings.write(use, folder, prepare=True)

    return write


class Generating(GeneratingModel, Backend):
    """A :class:`~lev_correct.propose.backend.Backend` over the generator of a task.

    The probability of a change is the product of the probabilities, each given the unit and all
    that is written before it, of the tokens that it writes and of the token right after them,
    with which the model goes back to the unit; a deletion has that token alone.
    """

    def write(
        self,
        units: Sequence[ModelUnit],
        batch_size: int,
        doubts: bool = False,
    ) -> list[Answer | None]:
        """See :class:`~lev_correct.propose.backend.Backend`."""
        texts = [unit.text for unit in units]
        read = list(map(self.processing.tokens, texts))
        hypotheses = in_batches(self.search, read, map(len, read), batch_size)
        return list(map(self._answer, texts, read, hypotheses))

    def _answer(self, text: str, unit: Tokens, hypotheses: Sequence[Hypothesis]) -> Answer | None:
        """Returns the best hypothesis that ended by itself, within the unit's own limit."""
        most = getattr(self.generator, "max_len", math.inf)
        limit = min(LONGEST_RATIO * (len(unit) + 1) + LONGEST_MORE, most - 1)
        for hypothesis in hypotheses:
            written = [self.symbols.get(number) for number in hypothesis["tokens"].tolist()[:-1]]
            if len(written) < limit:
                scores = hypothesis["positional_scores"].tolist()
                return rewriting(unit, written, scores, self._known).answer(text, self.processing)
        return None


_NO_LOCK = contextlib.nullcontext()


class Prefixes:
    """Keeps what a decoder has read of B sources; ``lock`` is held while the model computes."""

    def __init__(
        self,
        model: FairseqEncoderDecoderModel,
        inputs: Mapping[str, Tensor],
        lock: AbstractContextManager[object] = _NO_LOCK,
    ) -> None:
        self.model = model
        self.lock = lock
        self.state: dict[str, Any] = {}
        sources = inputs["src_tokens"]
        self.tokens = sources.new_zeros(len(sources), 0)  # R × depth
        with self.lock, torch.no_grad():
            self.encoded = model.encoder(**inputs)

    def read(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Floats:
        """See :class:`.search.PrefixReader`."""
        encoder, decoder = self.model.encoder, self.model.decoder
        rows, newest = (torch.from_numpy(part).to(self.tokens) for part in (parents, symbols))
        with self.lock, torch.no_grad():
            self.encoded = encoder.reorder_encoder_out(self.encoded, rows)
            decoder.reorder_incremental_state_scripting(self.state, rows)
            self.tokens = torch.cat([self.tokens[rows], newest[:, None]], 1)
            output = decoder(self.tokens, self.encoded, incremental_state=self.state)
            logs = self.model.get_normalized_probs(output, log_probs=True)
        return logs[:, -1].float().cpu().numpy()


class Autoregressive(Generating, Searching):
    """fairseq's beam search where nothing is ranked, else the search of :class:`.Searching`."""

    model: FairseqEncoderDecoderModel
    generator: SequenceGenerator

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        dictionary = self.task.target_dictionary
        self.eos = dictionary.eos()
        self.pad = dictionary.pad()
        self.number = dictionary.index
        self.spelling = frozenset(filter(self._known, self.task.source_dictionary.symbols))
        self.beam = self.generator.beam_size
        self.longest = self.generator.max_len - 1

    def prefixes(self, units: Sequence[Tokens]) -> tuple[Prefixes, list[int]]:
        """See :class:`.Searching`."""
        inputs, order = self._inputs(units)
        return Prefixes(self.model, inputs, self.lock), order

    def _inputs(self, units: Sequence[Tokens]) -> tuple[dict[str, Tensor], list[int]]:
        """Returns what the encoder reads of units, and where each of its rows stands among them."""
        batch = self.batch(units)
        inputs: dict[str, Any] = batch["net_input"]
        read = {name: value for name, value in inputs.items() if name.startswith("src_")}
        return read, batch["id"].tolist()

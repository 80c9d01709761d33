"""Runs models of the task translation, or of one derived from it, by the task's generator.

They may write from left to right or all at once: any of fairseq's.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from fairseq import tasks, utils
from fairseq.data import Dictionary
from fairseq.data.encoders.characters import SPACE_ESCAPE, Characters
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import BaseFairseqModel
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, open_dict
from torch import Tensor

from lev_runtime.beam.search import LENGTH_SHARE, LONGEST_MORE, LONGEST_RATIO
from lev_runtime.errors import require_count
from lev_runtime.text import codec

from ..data.batch import Batch, Hypothesis, TextEncoder
from ..nn.precision import prepare_for_decoding
from .checkpoints import (
    EDITING,
    CheckpointState,
    load_model,
    load_task,
    text_encoders,
)
from .text_processing import TextProcessing, Tokens


class GeneratingModel:
    """A model, its task's generator and its text processing.

    Hypotheses have ``tokens``, the last of them ``</s>``, and the ``positional_scores`` of all. A
    model that ``joins_draft`` reads a line as source and as draft.

    limit: tokens of a line at most. symbols: those that stand for text, by their numbers.
    """

    def __init__(
        self,
        model: BaseFairseqModel,
        task: TranslationTask,
        cfg: DictConfig,
        processing: TextProcessing,
        knows_spaces: bool,
        beam: int = 5,
        device: str | torch.device = "cpu",
        precision: str = "fp32",
    ) -> None:
        require_count("beam", beam)
        self.model = model
        self.task = task
        self.device = torch.device(device)
        self.processing: codec.TextProcessing = processing
        self.knows_spaces = knows_spaces
        options: Any = GenerationConfig(beam=beam, max_len_a=LONGEST_RATIO, max_len_b=LONGEST_MORE)
        with open_dict(cfg):
            cfg.generation = options
        model.eval()
        model.to(self.device)
        model.prepare_for_inference_(cfg)
        prepare_for_decoding([model], precision)
        self.limit = longest_line(task, model)
        self.generator = task.build_generator([model], options)
        self.lock = threading.RLock()  # fairseq grows tables of positions while it decodes
        dictionary = task.target_dictionary
        #: The symbols that stand for text, by their numbers.
        self.symbols = {
            number: symbol
            for number, symbol in enumerate(dictionary.symbols)
            if number >= dictionary.nspecial and not symbol.startswith("madeupword")
        }
        self._known = frozenset(self.symbols.values()).__contains__

    def batch(self, units: Sequence[Tokens]) -> Batch:
        """Makes fairseq's batch of units; its ``id`` says where each of them stands."""
        sources = [numbered(unit, self.task.source_dictionary) for unit in units]
        drafted = getattr(self.model, "joins_draft", False)
        items = [(source, source) for source in sources] if drafted else sources
        lengths = [len(source) for source in sources]
        data = self.task.build_dataset_for_inference(items, lengths)
        batch = data.collater([data[i] for i in range(len(data))])
        return utils.apply_to_sample(lambda tensor: tensor.to(self.device), batch)

    def search(self, units: Sequence[Tokens], generator: Any = None) -> list[list[Hypothesis]]:
        """Returns what the beam search finds for each unit of a batch, best first."""
        batch = self.batch(units)
        generator = generator or self.generator
        with self.lock, torch.no_grad():
            results = self.task.inference_step(generator, [self.model], batch)
        places = dict(zip(batch["id"].tolist(), results, strict=True))
        return [places[place] for place in range(len(units))]


def numbered(tokens: Sequence[str], dictionary: Dictionary) -> Tensor:
    """Returns tokens as numbers and </s>; a special symbol typed is unknown."""
    indices = (dictionary.index(token) for token in tokens)
    numbers = [dictionary.unk() if n < dictionary.nspecial else n for n in indices]
    return torch.tensor([*numbers, dictionary.eos()])


def longest_line(task: TranslationTask, model: BaseFairseqModel) -> int:
    """Returns the most tokens of a line, so that what is written for it may be longer."""
    limits = utils.resolve_max_positions(task.max_positions(), model.max_positions())
    read = int(limits[0])
    written = int(limits[-1])
    return max(1, min(read - 2, int(LENGTH_SHARE * written)))


class GeneratingParts(NamedTuple):
    """Holds the first arguments of a :class:`GeneratingModel`, from a checkpoint.

    knows_spaces: whether it was trained on more than single words, as far as can be told.
    """

    model: BaseFairseqModel
    task: TranslationTask
    cfg: DictConfig
    processing: TextProcessing
    knows_spaces: bool


def is_generating(state: CheckpointState) -> bool:
    """Returns whether a checkpoint's task is translation or derived from it, without drafts."""
    name = getattr(state["cfg"].task, "_name", None)
    task = tasks.TASK_REGISTRY.get(name, object)
    return name not in EDITING and issubclass(task, TranslationTask)


def load_parts(
    path: str,
    state: CheckpointState,
    data: str | None,
    typed: Mapping[str, Any],
    by_letter: bool = False,
) -> GeneratingParts:
    """Loads a checkpoint for which :func:`is_generating`.

    Args:
        typed: options of text processing that a person gave.
        by_letter: it corrects text, so that single letters without a sign for spaces are those of
            words; else they are words, as fairseq has them.

    Raises:
        UserError: no dictionaries, or others than those of the model.
    """
    task = load_task(state, path, data)
    model = load_model(path, task, state, BaseFairseqModel)
    cfg = state["cfg"]
    encoders = text_encoders(cfg, typed, [path], data)
    bpe, knows_spaces = subwords(encoders, typed, task.source_dictionary)
    if not (by_letter or knows_spaces):
        bpe = encoders[1]
    processing = TextProcessing(encoders[0], bpe)
    return GeneratingParts(model, task, cfg, processing, knows_spaces)


def subwords(
    encoders: Sequence[TextEncoder | None], typed: Mapping[str, Any], dictionary: Dictionary
) -> tuple[TextEncoder | None, bool]:
    """Returns the subwords, and whether the model was trained on more than single words.

    They are those of the checkpoint or the user. Where neither names any and all symbols are
    characters, they are characters: data with spaces between characters leave no other trace.
    """
    bpe = encoders[1]
    if "bpe" not in typed and not any(encoders) and single_characters(dictionary):
        bpe = Characters()
    return bpe, not isinstance(bpe, Characters) or SPACE_ESCAPE in dictionary.indices


def single_characters(dictionary: Dictionary) -> bool:
    """Returns whether every symbol is one character, as in text that was split into characters."""
    sizes = set()
    for symbol in dictionary.symbols[dictionary.nspecial :]:
        if symbol != "<plh>" and not symbol.startswith("madeupword"):
            sizes.add(len(symbol))
    return sizes == {1}

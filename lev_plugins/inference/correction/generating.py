"""Models that write a unit anew by their task's generator: any of fairseq's, on task translation or
one that is derived from it."""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import BaseFairseqModel
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, open_dict
from torch import Tensor

from ...data.batch import Batch, Hypothesis
from ...data.batching import in_batches
from ...nn.precision import quantize
from .backends import Answer, Backend, Rewriting, TextProcessing, Tokens
from .edits import script

# A correction is longer than this only when the model repeats itself without end.
LONGEST_RATIO, LONGEST_MORE = 2, 20
# Of the longest target a unit takes this share, so that its correction may be longer.
LENGTH_SHARE = 0.8


class Generating(Backend):
    """A :class:`~.backends.Backend` over the generator of a task, whose hypotheses have ``tokens``,
    the last of them ``</s>``, and the ``positional_scores`` of all.

    The probability of a change is the product of the probabilities, each given the unit and all
    that is written before it, of the tokens that it writes and of the token right behind them,
    with which the model goes back to the unit; a deletion has that token alone. A model that
    ``joins_draft`` reads the unit as source and as draft.
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
        draft_guided: bool = False,
    ) -> None:
        self.model, self.task, self.device = model, task, torch.device(device)
        self.processing, self.knows_spaces = processing, knows_spaces
        options: Any = GenerationConfig(beam=beam, max_len_a=LONGEST_RATIO, max_len_b=LONGEST_MORE)
        with open_dict(cfg):
            cfg.generation = options
        # no option of fairseq's: the task's generator looks for it
        options.draft_guided = draft_guided
        model.eval()
        model.to(self.device)
        model.prepare_for_inference_(cfg)
        quantize([model], precision)
        limits = utils.resolve_max_positions(task.max_positions(), model.max_positions())
        self.limit = max(1, min(int(limits[0]) - 2, int(LENGTH_SHARE * int(limits[-1]))))
        self.generator = task.build_generator([model], options)
        self.lock = threading.RLock()  # fairseq grows tables of positions while it decodes
        dictionary = task.target_dictionary
        #: The symbols that stand for text, by their numbers.
        self.symbols = {
            number: symbol
            for number, symbol in enumerate(dictionary.symbols)
            if number >= dictionary.nspecial
            and not (symbol.startswith("madeupword") and dictionary.count[number] == 0)
        }
        self._known = frozenset(self.symbols.values()).__contains__
        self._spelling = frozenset(filter(self._known, task.source_dictionary.symbols))

    def write(
        self, units: Sequence[str], batch_size: int, contexts: Sequence[object] = ()
    ) -> list[Answer | None]:
        """See :class:`~.backends.Backend`."""
        read = list(map(self.processing.tokens, units))
        found = in_batches(self.search, read, map(len, read), batch_size)
        return list(map(self._answer, units, read, found))

    def batch(self, units: Sequence[Tokens]) -> Batch:
        """fairseq's batch of units; its ``id`` says where each of them stands."""
        sources = [numbered(unit, self.task.source_dictionary) for unit in units]
        drafted = getattr(self.model, "joins_draft", False)
        items = [(source, source) for source in sources] if drafted else sources
        data = self.task.build_dataset_for_inference(items, [len(source) for source in sources])
        batch = data.collater([data[i] for i in range(len(data))])
        return utils.apply_to_sample(lambda tensor: tensor.to(self.device), batch)

    def search(self, units: Sequence[Tokens], generator: Any = None) -> list[list[Hypothesis]]:
        """What the beam search finds for each unit of a batch, best first."""
        batch = self.batch(units)
        with self.lock, torch.no_grad():
            found = self.task.inference_step(generator or self.generator, [self.model], batch)
        places = dict(zip(batch["id"].tolist(), found, strict=True))
        return [places[place] for place in range(len(units))]

    def _answer(self, text: str, unit: Tokens, hypotheses: Sequence[Hypothesis]) -> Answer | None:
        """The best hypothesis that came to an end by itself, within the unit's own limit."""
        most = getattr(self.generator, "max_len", math.inf)
        limit = min(LONGEST_RATIO * (len(unit) + 1) + LONGEST_MORE, most - 1)
        for hypothesis in hypotheses:
            written = [self.symbols.get(number) for number in hypothesis["tokens"].tolist()[:-1]]
            if len(written) < limit:
                scores = hypothesis["positional_scores"].tolist()
                return rewriting(unit, written, scores, self._known).answer(text, self.processing)
        return None


def numbered(tokens: Sequence[str], dictionary: Dictionary) -> Tensor:
    """Tokens as numbers, </s> behind them; a special symbol typed is unknown."""
    found = (dictionary.index(token) for token in tokens)
    numbers = [dictionary.unk() if n < dictionary.nspecial else n for n in found]
    return torch.tensor([*numbers, dictionary.eos()])


def rewriting(
    unit: Tokens,
    written: Sequence[str | None],
    scores: Sequence[float],
    known: Callable[[str], bool],
) -> Rewriting:
    """What a left-to-right model changed.

    Args:
        written: its tokens without </s>; None for ``<unk>``.
        scores: the log-probability of each, and that of </s>.
        known: whether the model can write a token; one that it cannot stays as it was typed where
            a minimal script keeps it beside an ``<unk>``.
    """
    changes = script([token if known(token) else None for token in unit], written)
    tokens = list(written)
    gone: list[float | None] = [None] * len(unit)
    come: list[float | None] = [None] * len(tokens)
    place = number = 0
    for i, j, k, m in [*changes, (len(unit), len(unit), len(tokens), len(tokens))]:
        tokens[number:k] = unit[place:i]
        gone[i:j], come[k:m] = [0.0] * (j - i), scores[k:m]
        if m > k:
            come[m - 1] = scores[m - 1] + scores[m]
        elif j > i:
            gone[j - 1] = scores[m]
        place, number = j, m
    return Rewriting(unit, tokens, gone, come)

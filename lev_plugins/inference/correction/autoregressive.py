"""Models that write from left to right: any of fairseq's, on task translation or our own."""

import threading
from collections.abc import Callable, Iterator, Sequence

import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, open_dict

from ...data.batch import Batch, Hypothesis
from ...data.batching import in_batches
from ...errors import UserError
from ...fairseq_patches import explain
from ...nn.precision import quantize
from .backends import Answer, TextProcessing, Tokens
from .edits import script
from .prefix_tree import PrefixTree, TreeSearch

# A correction is longer than this only when the model repeats itself without end.
LONGEST_RATIO, LONGEST_MORE = 2, 20
# Of the longest target a unit takes this share, so that its correction may be longer.
LENGTH_SHARE = 0.8


class SharedLock:
    """A lock that is shared by shallow copies of what holds it, and is new in deep ones."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["SharedLock"], tuple[()]]:
        return SharedLock, ()


class Autoregressive:
    """A :class:`~.backends.Backend` over fairseq's beam search; several models are averaged.

    The probability of a change is the product of the probabilities, each given the unit and all
    that is written before it, of the tokens that it writes and of the token right behind them,
    with which the model goes back to the unit; a deletion has that token alone. On task
    ``translation_concat`` the unit is read as source and as draft.
    """

    words_learnt: int | None = None

    def __init__(
        self,
        models: Sequence[FairseqEncoderDecoderModel],
        task: TranslationTask,
        cfg: DictConfig,
        processing: TextProcessing,
        knows_spaces: bool,
        beam: int = 5,
        device: str | torch.device = "cpu",
        precision: str = "fp32",
    ) -> None:
        self.models, self.task, self.device = list(models), task, torch.device(device)
        self.tokens, self.text, self.knows_spaces = processing.tokens, processing.text, knows_spaces
        self.processing = processing
        self.drafted = cfg.task._name == "translation_concat"
        options = GenerationConfig(beam=beam, max_len_a=LONGEST_RATIO, max_len_b=LONGEST_MORE)
        with open_dict(cfg):
            cfg.generation = options
        for model in self.models:
            model.eval()
            model.to(self.device)
            model.prepare_for_inference_(cfg)
            vars(model).pop("train", None)  # fairseq's refusal to train, which cannot be pickled
        quantize(self.models, precision)
        limits = utils.resolve_max_positions(
            task.max_positions(), *(model.max_positions() for model in self.models)
        )
        self.limit = max(1, min(int(limits[0]) - 2, int(LENGTH_SHARE * int(limits[1]))))
        self.generator = task.build_generator(self.models, options)
        self.lock = SharedLock()
        self.symbols = _spelt(task.target_dictionary)

    def write(self, units: Sequence[Tokens], batch_size: int) -> list[Answer | None]:
        """See :class:`~.backends.Backend`."""

        def answers(chosen: Sequence[Tokens]) -> Iterator[Answer | None]:
            return map(self._answer, chosen, self.search(chosen))

        return in_batches(answers, units, map(len, units), batch_size)

    def constrained(self, tree: PrefixTree, beam: int) -> SequenceGenerator:
        """A beam search that writes nothing but the words of a tree."""
        options = GenerationConfig(beam=beam, max_len_a=0, max_len_b=tree.longest + 1)
        generator = self.task.build_generator(self.models, options)
        generator.search = TreeSearch(self.task.target_dictionary, tree)
        return generator

    def batch(self, units: Sequence[Tokens]) -> Batch:
        """fairseq's batch of units; its ``id`` says where each of them stands."""
        sources = [numbered(unit, self.task.source_dictionary) for unit in units]
        items = [(source, source) for source in sources] if self.drafted else sources
        data = self.task.build_dataset_for_inference(items, [len(source) for source in sources])
        batch = data.collater([data[i] for i in range(len(data))])
        return utils.apply_to_sample(lambda tensor: tensor.to(self.device), batch)

    def search(
        self, units: Sequence[Tokens], generator: SequenceGenerator | None = None
    ) -> list[list[Hypothesis]]:
        """What the beam search finds for each unit of a batch, best first."""
        batch = self.batch(units)
        constraints = batch.pop("constraints", None)  # here the drafts of translation_concat
        try:
            with self.lock, torch.no_grad():  # fairseq grows tables of positions while it decodes
                found = self.task.inference_step(
                    generator or self.generator, self.models, batch, constraints=constraints
                )
        except AssertionError as error:
            said = explain(error)
            if said is None:
                raise
            raise UserError(said) from error
        places = dict(zip(batch["id"].tolist(), found, strict=True))
        return [places[place] for place in range(len(units))]

    def _answer(self, unit: Tokens, hypotheses: Sequence[Hypothesis]) -> Answer | None:
        """The best hypothesis that came to an end by itself.

        The limit is the unit's own, whatever units share its batch.
        """
        limit = min(LONGEST_RATIO * (len(unit) + 1) + LONGEST_MORE, self.generator.max_len - 1)
        for hypothesis in hypotheses:
            numbers = hypothesis["tokens"].tolist()[:-1]
            if len(numbers) < limit:
                written = [self.symbols.get(number) for number in numbers]
                return answer(unit, written, hypothesis["positional_scores"].tolist(), self._known)
        return None

    def _known(self, token: str) -> bool:
        return self.task.target_dictionary.index(token) in self.symbols


def numbered(tokens: Sequence[str], dictionary: Dictionary) -> torch.Tensor:
    """Tokens as numbers, </s> behind them; a special symbol typed is unknown."""
    found = (dictionary.index(token) for token in tokens)
    numbers = [dictionary.unk() if n < dictionary.nspecial else n for n in found]
    return torch.tensor([*numbers, dictionary.eos()])


def answer(
    unit: Tokens,
    written: Sequence[str | None],
    scores: Sequence[float],
    known: Callable[[str], bool],
) -> Answer:
    """What a left-to-right model changed.

    Args:
        written: its tokens without </s>; None for ``<unk>``.
        scores: the log-probability of each, and that of </s>.
        known: whether the model can write a token. One that it cannot is taken for copied, and
            stays as it was typed, where a minimal script keeps it beside an ``<unk>``.
    """
    typed = [token if known(token) else None for token in unit]
    changes = script(typed, written)
    tokens = list(written)
    place = number = 0
    for i, j, k, m in [*changes, (len(unit), len(unit), len(tokens), len(tokens))]:
        tokens[number:k] = unit[place:i]
        place, number = j, m
    return Answer(
        tuple(tokens), tuple(changes), (0.0,) * len(unit), tuple(scores[:-1]), tuple(scores)
    )


def _spelt(dictionary: Dictionary) -> dict[int, str]:
    """The symbols of a dictionary that stand for text, by their numbers."""
    return {
        number: symbol
        for number, symbol in enumerate(dictionary.symbols)
        if number >= dictionary.nspecial
        and not (symbol.startswith("madeupword") and dictionary.count[number] == 0)
    }

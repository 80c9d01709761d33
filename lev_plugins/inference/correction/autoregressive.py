"""Models that write from left to right: any of fairseq's, on task translation or our own."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, open_dict
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...data.batch import Batch, Hypothesis
from ...data.batching import in_batches
from ...nn.precision import quantize
from .backends import Answer, Backend, Rewriting, TextProcessing, Tokens
from .edits import script
from .prefix_search import Beam, Given, WordTree, search

#: A unit, and a text that it may become.
Pair = tuple[Tokens, Tokens]
#: Texts that a model wrote, and their log-probabilities.
Written = Mapping[Tokens, float]
# A correction is longer than this only when the model repeats itself without end.
LONGEST_RATIO, LONGEST_MORE = 2, 20
# Of the longest target a unit takes this share, so that its correction may be longer.
LENGTH_SHARE = 0.8
#: Width of the search among the words of a lexicon.
LEXICON_BEAM = 10


class Autoregressive(Backend):
    """A :class:`~.backends.Backend` over fairseq's beam search.

    The probability of a change is the product of the probabilities, each given the unit and all
    that is written before it, of the tokens that it writes and of the token right behind them,
    with which the model goes back to the unit; a deletion has that token alone. On task
    ``translation_concat`` the unit is read as source and as draft.
    """

    #: Of a lexicon, among which :meth:`nbest` searches too.
    words: Sequence[str] = ()

    def __init__(
        self,
        model: FairseqEncoderDecoderModel,
        task: TranslationTask,
        cfg: DictConfig,
        processing: TextProcessing,
        knows_spaces: bool,
        beam: int = 5,
        device: str | torch.device = "cpu",
        precision: str = "fp32",
    ) -> None:
        self.model, self.task, self.device = model, task, torch.device(device)
        self.processing, self.knows_spaces = processing, knows_spaces
        options = GenerationConfig(beam=beam, max_len_a=LONGEST_RATIO, max_len_b=LONGEST_MORE)
        with open_dict(cfg):
            cfg.generation = options
        model.eval()
        model.to(self.device)
        model.prepare_for_inference_(cfg)
        quantize([model], precision)
        limits = utils.resolve_max_positions(task.max_positions(), model.max_positions())
        self.limit = max(1, min(int(limits[0]) - 2, int(LENGTH_SHARE * int(limits[1]))))
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
        drafted = self.task.cfg._name == "translation_concat"
        items = [(source, source) for source in sources] if drafted else sources
        data = self.task.build_dataset_for_inference(items, [len(source) for source in sources])
        batch = data.collater([data[i] for i in range(len(data))])
        return utils.apply_to_sample(lambda tensor: tensor.to(self.device), batch)

    def _inputs(self, units: Sequence[Tokens]) -> tuple[dict[str, Tensor], list[int]]:
        """What the encoder reads of units, and where each of its rows stands among them."""
        batch = self.batch(units)
        inputs: dict[str, Any] = {**batch["net_input"]}
        read = {name: one for name, one in inputs.items() if name.startswith("src_")}
        return read, batch["id"].tolist()

    def search(
        self, units: Sequence[Tokens], generator: SequenceGenerator | None = None
    ) -> list[list[Hypothesis]]:
        """What the beam search finds for each unit of a batch, best first."""
        batch = self.batch(units)
        with self.lock, torch.no_grad():
            found = self.task.inference_step(generator or self.generator, [self.model], batch)
        places = dict(zip(batch["id"].tolist(), found, strict=True))
        return [places[place] for place in range(len(units))]

    def _answer(self, text: str, unit: Tokens, hypotheses: Sequence[Hypothesis]) -> Answer | None:
        """The best hypothesis that came to an end by itself, within the unit's own limit."""
        limit = min(LONGEST_RATIO * (len(unit) + 1) + LONGEST_MORE, self.generator.max_len - 1)
        for hypothesis in hypotheses:
            written = [self.symbols.get(number) for number in hypothesis["tokens"].tolist()[:-1]]
            if len(written) < limit:
                scores = hypothesis["positional_scores"].tolist()
                return rewriting(unit, written, scores, self._known).answer(text, self.processing)
        return None

    # texts that others propose --------------------------------------------------------------------

    def knows(self, tokens: Iterable[str]) -> bool:
        """Whether the model can read and write all tokens."""
        return self._spelling.issuperset(tokens)

    @cached_property
    def _tree(self) -> WordTree | None:
        """The words of a lexicon that can be spelt; made when first needed."""
        numbers = {one: chr(self.task.target_dictionary.index(one)) for one in self._spelling}
        spelt = filter(self.knows, map(self.processing.tokens, self.words))
        words = ["".join(map(numbers.__getitem__, tokens)) for tokens in spelt]
        return WordTree(words, self.task.target_dictionary.eos()) if words else None

    def nbest(
        self, units: Sequence[Tokens], batch_size: int, others: Sequence[Sequence[Tokens]] = ()
    ) -> list[Written]:
        """What the beam writes, then the best of the words, however far they are from the unit,
        then others that were asked for; with the log-probability of each."""
        asked = list(zip(units, others or [()] * len(units), strict=True))
        return in_batches(self._found, asked, map(len, units), batch_size)

    def _found(self, asked: Sequence[tuple[Tokens, Sequence[Tokens]]]) -> list[Written]:
        """Of one batch, by one search."""
        dictionary, most = self.task.target_dictionary, self.generator.max_len - 1
        eos, (inputs, order) = dictionary.eos(), self._inputs([unit for unit, _ in asked])
        sizes = LONGEST_RATIO * (np.array([len(asked[i][0]) for i in order]) + 1) + LONGEST_MORE
        beams = [Beam(self.generator.beam_size, np.minimum(sizes, most), eos)]
        if self._tree is not None:
            beams.append(Beam(LEXICON_BEAM, np.full(len(order), most), eos, self._tree))
        texts = (["".join(chr(dictionary.index(one)) for one in text) for text in asked[i][1]]
                 for i in order)  # fmt: skip
        given = Given(list(texts), eos)
        with self.lock:
            search(self.model, inputs, [*beams, given], eos, dictionary.pad())
        found: dict[int, Written] = {}
        for row, i in enumerate(order):
            best = (some for beam in beams for some in beam.best(row))
            spelt = (([self.symbols.get(ord(one)) for one in text], score)
                     for text, score in (*best, *given.rated(row)))  # fmt: skip
            found[i] = {tuple(map(str, text)): score for text, score in spelt if None not in text}
        return [found[i] for i in range(len(asked))]

    def score(self, pairs: Sequence[Pair], batch_size: int) -> list[float]:
        """Log-probability, in nats, of (unit, text): that the model turns one into the other."""
        # by the length of the unit: its texts, which are about as long, stay together
        return in_batches(self._scored, pairs, (len(unit) for unit, _ in pairs), batch_size)

    @torch.no_grad()
    def _scored(self, pairs: Sequence[Pair]) -> list[float]:
        """Of one batch."""
        dictionary = self.task.target_dictionary
        units = list(dict.fromkeys(unit for unit, _ in pairs))  # each is encoded once
        inputs, places = self._inputs(units)
        rows = {units[i]: row for row, i in enumerate(places)}
        order = torch.tensor([rows[unit] for unit, _ in pairs], device=self.device)
        eos = torch.tensor([dictionary.eos()])
        targets = [numbered(text, dictionary) for _, text in pairs]
        wanted = pad_sequence(targets, True, dictionary.pad()).to(self.device)
        shifted = [torch.cat([eos, one[:-1]]) for one in targets]
        written = pad_sequence(shifted, True, dictionary.pad()).to(self.device)
        with self.lock:
            read = self.model.encoder.reorder_encoder_out(self.model.encoder(**inputs), order)
            output = self.model.decoder(written, encoder_out=read)
            every = self.model.get_normalized_probs(output, log_probs=True).float()
        each = every.gather(2, wanted.unsqueeze(2)).squeeze(2)
        return each.masked_fill(wanted.eq(dictionary.pad()), 0).sum(1).tolist()


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

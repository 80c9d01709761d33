"""Models that write from left to right: any of fairseq's, on task translation or our own."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..data.batching import in_batches
from ..inference.generation import LONGEST_MORE, LONGEST_RATIO, numbered
from ..inference.text_processing import Tokens
from .generating import Generating
from .prefix_search import Beam, Given, WordTree, search

#: A unit, and a text that it may become.
Pair = tuple[Tokens, Tokens]
#: Texts that a model wrote, and their log-probabilities.
Written = Mapping[Tokens, float]
#: Width of the search among the words of a lexicon.
LEXICON_BEAM = 10


class Autoregressive(Generating):
    """fairseq's beam search, which can also search among words and rate what others propose."""

    model: FairseqEncoderDecoderModel
    generator: SequenceGenerator
    #: Of a lexicon, among which :meth:`nbest` searches too.
    words: Sequence[str] = ()

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

    def _inputs(self, units: Sequence[Tokens]) -> tuple[dict[str, Tensor], list[int]]:
        """What the encoder reads of units, and where each of its rows stands among them."""
        batch = self.batch(units)
        inputs: dict[str, Any] = {**batch["net_input"]}
        read = {name: one for name, one in inputs.items() if name.startswith("src_")}
        return read, batch["id"].tolist()

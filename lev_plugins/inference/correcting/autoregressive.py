"""Models of torch that write from left to right: any of fairseq's, on task translation or our
own."""

from collections.abc import Sequence
from typing import Any

import torch
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from lev_correct.models.searching import Pair, Searching
from lev_runtime.batching import in_batches
from lev_runtime.text_processing import Tokens

from ...nn.seq2seq.draft_guided import DraftGuidedGenerator
from ..generation import numbered
from .generating import Generating
from .prefix_search import Prefixes


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
        self.draft_guided = isinstance(self.generator, DraftGuidedGenerator)

    def prefixes(self, units: Sequence[Tokens]) -> tuple[Prefixes, list[int]]:
        """See :class:`.Searching`."""
        inputs, order = self._inputs(units)
        return Prefixes(self.model, inputs, self.pad, self.lock), order

    def score(self, pairs: Sequence[Pair], batch_size: int) -> list[float]:
        """See :class:`.Searching`; each text is read at once."""
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
        targets = [numbered(text, dictionary) for _, text in pairs]
        wanted = pad_sequence(targets, True, self.pad).to(self.device)
        eos = torch.tensor([self.eos])
        shifted = [torch.cat([eos, target[:-1]]) for target in targets]
        written = pad_sequence(shifted, True, self.pad).to(self.device)
        with self.lock:
            read = self.model.encoder.reorder_encoder_out(self.model.encoder(**inputs), order)
            output = self.model.decoder(written, encoder_out=read)
            logs = self.model.get_normalized_probs(output, log_probs=True).float()
        symbol_logs = logs.gather(2, wanted.unsqueeze(2)).squeeze(2)
        return symbol_logs.masked_fill(wanted.eq(self.pad), 0).sum(1).tolist()

    def _inputs(self, units: Sequence[Tokens]) -> tuple[dict[str, Tensor], list[int]]:
        """What the encoder reads of units, and where each of its rows stands among them."""
        batch = self.batch(units)
        inputs: dict[str, Any] = batch["net_input"]
        read = {name: value for name, value in inputs.items() if name.startswith("src_")}
        return read, batch["id"].tolist()

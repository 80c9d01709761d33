"""Has a gated model write a line, and asks its gates in a forced pass over what it wrote."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import torch
from fairseq import utils
from fairseq.data import data_utils
from fairseq.dataclass.configs import GenerationConfig
from torch import Tensor

from ..data.batching import in_batches
from ..errors import UserError
from ..inference.correction.autoregressive import Autoregressive, numbered
from ..inference.correction.backends import Tokens
from ..inference.correction.loading import load_backend
from ..systems.gated import GatedTransformerModel
from .gates import GATES, Record

END = "</s>"


class _Line(NamedTuple):
    """A line by its number, as text and as tokens; target: None where the model writes."""

    number: int
    source: str
    target: str | None
    source_tokens: Tokens
    target_tokens: Tokens | None


class Recorder:
    """A gated model, its text processing and its search.

    Args:
        path: of one checkpoint. beam: as of fairseq-generate.
        **options: data, device, processing, as of :func:`load_backend`.

    Raises:
        UserError: no checkpoint, several, or one without gates.
    """

    def __init__(self, path: str, beam: int, **options: Any) -> None:
        self.backend = cast(Autoregressive, load_backend(path, beam=beam, **options))
        if len(self.backend.models) > 1:
            raise UserError(f"--path {path}: gates are those of one model; name one checkpoint")
        self.model = cast(GatedTransformerModel, self.backend.models[0])
        if self.model.encoder.mask_gate is None and self.model.decoder.gates is None:
            raise UserError(f"{path} was trained with --gates none: there is nothing to show")
        self.task = self.backend.task
        options = GenerationConfig(beam=beam, max_len_a=1, max_len_b=200)
        self.generator = self.task.build_generator([self.model], options)
        limits = utils.resolve_max_positions(self.task.max_positions(), self.model.max_positions())
        self.limits = list(map(int, limits))

    def records(
        self, pairs: Sequence[tuple[str, str | None]], batch_size: int, first: int = 1
    ) -> list[Record]:
        """The records of sources, in order, the first of number ``first``.

        Args:
            pairs: sources, and targets that are forced; None where the model writes.

        Raises:
            UserError: a line longer than the model reads or writes.
        """
        lines = []
        for number, (source, target) in enumerate(pairs, start=first):
            tokens = self.backend.processing.tokens(source)
            forced = None if target is None else self.backend.processing.tokens(target)
            sides = ("source", tokens), ("target", forced or ())
            for (side, read), limit in zip(sides, self.limits):
                if len(read) + 1 > limit:
                    raise UserError(
                        f"line {number}: the {side} has {len(read) + 1} tokens with </s>, and the "
                        f"model takes {limit}; split the line"
                    )
            lines.append(_Line(number, source, target, tokens, forced))
        lengths = [len(one.source_tokens) for one in lines]
        return in_batches(self._recorded, lines, lengths, batch_size)

    def _recorded(self, lines: Sequence[_Line]) -> Iterator[Record]:
        """The records of a batch: what has no target is searched, then all are forced."""
        free = [one.source_tokens for one in lines if one.target_tokens is None]
        found = iter(self.backend.search(free, self.generator) if free else [])
        targets = [
            next(found)[0]["tokens"].cpu()
            if one.target_tokens is None
            else numbered(one.target_tokens, self.task.target_dictionary)
            for one in lines
        ]
        for one, target, measured in zip(lines, targets, self._forced(lines, targets), strict=True):
            known: dict[str, Any] = {**dict.fromkeys(GATES), **measured}
            written = [self.task.target_dictionary[token] for token in target[:-1].tolist()]
            yield Record(
                line=one.number,
                source=one.source,
                source_tokens=[*one.source_tokens, END],
                target=self.backend.processing.text(written) if one.target is None else one.target,
                target_tokens=[*(one.target_tokens or written), END],
                forced=one.target is not None,
                variant=self.model.decoder.variant,
                **known,
            )

    def _forced(
        self, lines: Sequence[_Line], targets: Sequence[Tensor]
    ) -> Iterator[dict[str, Any]]:
        """Gates and log-probabilities along each line's target, one forced pass for all lines."""
        dictionary, device = self.task.target_dictionary, self.backend.device
        pad, eos = dictionary.pad(), dictionary.eos()
        rows = [numbered(one.source_tokens, self.task.source_dictionary) for one in lines]
        source = data_utils.collate_tokens(rows, pad, left_pad=True).to(device)
        target = data_utils.collate_tokens(targets, pad).to(device)
        before = data_utils.collate_tokens(targets, pad, eos, move_eos_to_beginning=True).to(device)
        with torch.no_grad():
            encoder_out = self.model.encoder(source)
            net_output = self.model.decoder(before, encoder_out=encoder_out)
            scores = self.model.get_normalized_probs(net_output, log_probs=True)
        scores = scores.gather(2, target.unsqueeze(2)).squeeze(2)
        masked, gates = encoder_out["memory"][0].masked, net_output[1].get("gates")
        names = self.model.decoder.gates.names if gates is not None else []
        for i, size in enumerate(map(len, targets)):
            measured = {name: gates[i, :size, k] for k, name in enumerate(names)}
            measured["log_probability"] = scores[i, :size]
            if masked is not None:
                measured["mask"] = masked[i][source[i].ne(pad)]
            # with the digits that single precision has
            yield {
                name: [round(value, 7) for value in values.double().cpu().tolist()]
                for name, values in measured.items()
            }

"""Has a gated model write a line, and asks its gates in a forced pass over what it wrote."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from fairseq import utils
from fairseq.data import data_utils
from fairseq.dataclass.configs import GenerationConfig
from torch import Tensor

from ..data.batching import in_batches
from ..errors import UserError
from ..inference.checkpoints import find_checkpoints, load_state
from ..inference.correction.autoregressive import Autoregressive, numbered
from ..inference.correction.backends import Tokens
from ..inference.correction.loading import load_backend
from ..systems.gated import GatedTransformerModel
from .gates import GATES, Record

END = "</s>"


def has_gates(path: str) -> bool:
    """Whether a checkpoint, or the first of several, is of a gated model."""
    model = load_state(find_checkpoints(path)[0])["cfg"].model
    return str(getattr(model, "_name", "")).startswith("gated_transformer")


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
        self.limits = dict(zip(("source", "target"), map(int, limits)))

    def records(
        self, pairs: Sequence[tuple[str, str | None]], batch_size: int, first: int = 1
    ) -> Iterator[Record]:
        """The records of sources, in order, the first of number ``first``.

        Args:
            pairs: sources, and targets that are forced; None where the model writes.

        Raises:
            UserError: a line longer than the model reads or writes.
        """
        sources = [self._tokens(one, first + i, "source") for i, (one, _) in enumerate(pairs)]
        given = [
            None if target is None else self._tokens(target, first + i, "target")
            for i, (_, target) in enumerate(pairs)
        ]

        def recorded(numbers: Sequence[int]) -> Iterator[Record]:
            targets = self._targets([sources[n] for n in numbers], [given[n] for n in numbers])
            rows = [numbered(sources[n], self.task.source_dictionary) for n in numbers]
            for n, measured in zip(numbers, self._forced(rows, targets), strict=True):
                written = measured.pop("tokens")
                tokens, (source, target) = given[n], pairs[n]
                yield Record(
                    line=first + n,
                    source=source,
                    source_tokens=[*sources[n], END],
                    target=self.backend.text(written) if target is None else target,
                    target_tokens=[*(written if tokens is None else tokens), END],
                    forced=target is not None,
                    variant=self.model.decoder.variant,
                    **measured,
                )

        yield from in_batches(recorded, range(len(pairs)), map(len, sources), batch_size)

    def _tokens(self, line: str, number: int, side: str) -> Tokens:
        """Those of a line, which the model can take."""
        tokens = self.backend.tokens(line)
        if len(tokens) + 1 > self.limits[side]:
            raise UserError(
                f"line {number}: the {side} has {len(tokens) + 1} tokens with </s>, and the model "
                f"takes {self.limits[side]}; split the line"
            )
        return tokens

    def _targets(self, sources: Sequence[Tokens], given: Sequence[Tokens | None]) -> list[Tensor]:
        """Numbers of each target: the given one, else what the search finds."""
        free = [source for source, tokens in zip(sources, given) if tokens is None]
        found = iter(self.backend.search(free, self.generator) if free else [])
        return [
            next(found)[0]["tokens"].cpu()
            if tokens is None
            else numbered(tokens, self.task.target_dictionary)
            for tokens in given
        ]

    def _forced(self, rows: Sequence[Tensor], wanted: Sequence[Tensor]) -> Iterator[dict[str, Any]]:
        """Gates, probabilities and tokens of each row's target, one forced pass for all rows."""
        dictionary = self.task.target_dictionary
        pad, eos = dictionary.pad(), dictionary.eos()
        source = data_utils.collate_tokens(list(rows), pad, left_pad=True)
        target = data_utils.collate_tokens(list(wanted), pad)
        before = data_utils.collate_tokens(list(wanted), pad, eos, move_eos_to_beginning=True)
        source, target, before = (one.to(self.backend.device) for one in (source, target, before))
        with torch.no_grad():
            encoder_out = self.model.encoder(source)
            net_output = self.model.decoder(before, encoder_out=encoder_out)
            scores = self.model.get_normalized_probs(net_output, log_probs=True)
        scores = scores.gather(2, target.unsqueeze(2)).squeeze(2)
        masked, gates = encoder_out["memory"][0].masked, net_output[1].get("gates")
        names = self.model.decoder.gates.names if gates is not None else []
        for i, numbers in enumerate(wanted):
            size = len(numbers)
            measured: dict[str, Any] = {
                "tokens": [dictionary[number] for number in numbers[:-1].tolist()],
                "mask": None if masked is None else _rounded(masked[i][source[i].ne(pad)]),
                "log_probability": _rounded(scores[i, :size]),
            }
            for name in GATES[1:]:
                on = name in names and gates is not None
                measured[name] = _rounded(gates[i, :size, names.index(name)]) if on else None
            yield measured


def _rounded(values: Tensor) -> list[float]:
    """Numbers with the digits that single precision has."""
    return [round(value, 7) for value in values.double().cpu().tolist()]

"""Has a gated model write a line, and asks its gates in a forced pass over what it wrote."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import torch
from fairseq import utils
from fairseq.data import data_utils
from fairseq.dataclass.configs import GenerationConfig
from torch import Tensor

from ...data.batching import in_batches
from ...errors import UserError
from ...inference.correction.autoregressive import Autoregressive, numbered
from ...inference.correction.backends import Backend, Tokens
from ...inference.correction.loading import load_backend
from ...systems.gated import GatedTransformerModel
from .record import END, GATES, Record

#: gates, probabilities and tokens of a line, as :class:`Record` names them
Measured = dict[str, Any]


class Recorder:
    """A gated model, its text processing and its search (``beam`` … as of fairseq-generate).

    Raises:
        UserError: no checkpoint, several, or one without gates.
    """

    def __init__(
        self,
        path: str,
        data: str | None = None,
        processing: Mapping[str, str] | None = None,
        device: str | None = None,
        beam: int = 5,
        max_len_a: float = 0.0,
        max_len_b: int = 200,
    ) -> None:
        self.backend = _gated(path, load_backend(path, data, device, beam, processing=processing))
        (self.model,) = self.backend.models
        self.task = self.backend.task
        options = GenerationConfig(beam=beam, max_len_a=max_len_a, max_len_b=max_len_b)
        self.generator = self.task.build_generator([self.model], options)
        limits = utils.resolve_max_positions(self.task.max_positions(), self.model.max_positions())
        self.longest_source, self.longest_target = map(int, limits)

    def records(
        self, sources: Sequence[str], targets: Sequence[str] | None, batch_size: int, first: int = 1
    ) -> Iterator[Record]:
        """The records of lines, in order, the first of number ``first``; ``targets``: are forced.

        Raises:
            UserError: a line longer than the model reads or writes.
        """
        units = [self._tokens(line, first + i, "source") for i, line in enumerate(sources)]
        given = [self._tokens(line, first + i, "target") for i, line in enumerate(targets or ())]

        def recorded(numbers: Sequence[int]) -> Iterator[Record]:
            some = [units[number] for number in numbers]
            if targets is None:
                found = self.backend.search(some, self.generator)
                wanted = [best["tokens"].cpu() for best, *_ in found]
            else:
                wanted = [numbered(given[n], self.task.target_dictionary) for n in numbers]
            rows = [numbered(unit, self.task.source_dictionary) for unit in some]
            for number, measured in zip(numbers, self._forced(rows, wanted), strict=True):
                tokens = measured.pop("tokens")
                if targets is not None:
                    tokens = given[number]
                yield Record(
                    line=first + number,
                    source=sources[number],
                    source_tokens=[*units[number], END],
                    target=self.backend.text(tokens) if targets is None else targets[number],
                    target_tokens=[*tokens, END],
                    forced=targets is not None,
                    variant=self.model.decoder.variant,
                    **measured,
                )

        yield from in_batches(recorded, range(len(sources)), map(len, units), batch_size)

    def _tokens(self, line: str, number: int, side: str) -> Tokens:
        """Those of a line, which the model can take."""
        tokens = self.backend.tokens(line)
        limit = self.longest_source if side == "source" else self.longest_target
        if len(tokens) + 1 > limit:
            raise UserError(
                f"line {number}: the {side} has {len(tokens) + 1} tokens with </s>, and the model "
                f"takes {limit}; split the line"
            )
        return tokens

    def _forced(self, rows: Sequence[Tensor], wanted: Sequence[Tensor]) -> Iterator[Measured]:
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
            real = source[i].ne(pad)
            measured: Measured = {
                "tokens": [dictionary[number] for number in numbers[:-1].tolist()],
                "mask": None if masked is None else _rounded(masked[i][real]),
                "log_probability": _rounded(scores[i, :size]),
            }
            for name in GATES[1:]:
                on = name in names and gates is not None
                measured[name] = _rounded(gates[i, :size, names.index(name)]) if on else None
            yield measured


def _gated(path: str, backend: Backend) -> Autoregressive:
    """The backend, if it is of one gated model."""
    models = getattr(backend, "models", [])
    if len(models) > 1:
        raise UserError(f"--path {path}: gates are those of one model; name one checkpoint")
    if not models or not isinstance(models[0], GatedTransformerModel):
        raise UserError(f"{path} is no gated model; train one with --arch gated_transformer")
    if models[0].encoder.mask_gate is None and models[0].decoder.gates is None:
        raise UserError(f"{path} was trained with --gates none: there is nothing to show")
    return cast(Autoregressive, backend)


def _rounded(values: Tensor) -> list[float]:
    """Numbers with the digits that single precision has."""
    return [round(value, 7) for value in values.double().cpu().tolist()]

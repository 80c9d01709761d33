"""What a gated model's gates say of a line: as JSON, as text, as a page of heat maps (Figure 4)."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from fairseq import utils
from fairseq.data import data_utils
from fairseq.dataclass.configs import GenerationConfig

from lev_correct.page import render
from lev_runtime.batching import in_batches
from lev_runtime.errors import UserError
from lev_runtime.io.output import printable

from ..inference.checkpoints import device_named, find_checkpoint, load_state
from ..inference.generation import GeneratingModel, load_parts, numbered
from ..inference.text_processing import Tokens
from ..systems.gated import GatedTransformerModel
from ..systems.gated.gates import GATES
from .traces import labelled

END = "</s>"


@dataclass(frozen=True)
class Record:
    """One line.

    line: its number, from 1. source, target: texts. source_tokens: with </s>. target_tokens: of the
    hypothesis, with </s>. mask: u of the paper's Eq. 1 for each source token; copy, generate, skip:
    Eq. 6 for each target token; None where the gate is off. log_probability: of each target token,
    in nats.
    """

    line: int
    source: str
    source_tokens: list[str]
    mask: list[float] | None
    target: str
    target_tokens: list[str]
    copy: list[float] | None
    generate: list[float] | None
    skip: list[float] | None
    log_probability: list[float]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it."""
        return dataclasses.asdict(self)

    def shown(self) -> list[tuple[str, list[tuple[str, float]]]]:
        """The gates that are on: name, and tokens with the probability of each."""
        gates = []
        for name in GATES:
            tokens = self.source_tokens if name == "mask" else self.target_tokens
            values = getattr(self, name)
            if values:
                gates.append((name, list(zip(tokens, values))))
        return gates


def render_text(record: Record, _: int = 0) -> str:
    """A line and its gates; behind each token its probability in percent."""
    lines = [
        labelled(f"(line {record.line})", "source", printable(record.source)),
        labelled("", "target", printable(record.target)),
    ]
    for name, cells in record.shown():
        values = [f"{printable(token)} {100 * value:.0f}" for token, value in cells]
        lines.append(labelled("", name, "  ".join(values)))
    return "\n".join(lines) + "\n"


def render_html(records: Sequence[Record], title: str) -> str:
    """The page for ``records``, in their order: the darker a token, the higher the probability."""
    facts = [("lines", f"{len(records):,}")]
    return render("gates.html", title=title, facts=facts, records=records)


class Recorder:
    """Has a gated model write lines, and asks its gates in a forced pass over what it wrote.

    Args:
        path: of one checkpoint. beam: as of fairseq-generate.
        **options: data, device, processing, as of :meth:`.Corrector.from_pretrained`.

    Raises:
        UserError: no checkpoint, or one without gates.
    """

    def __init__(
        self,
        path: str,
        beam: int,
        data: str | None = None,
        device: str | torch.device | None = None,
        processing: Mapping[str, str] | None = None,
    ) -> None:
        place = device_named(device)
        path = find_checkpoint(path)
        typed = {name: value for name, value in (processing or {}).items() if value is not None}
        parts = load_parts(path, load_state(path), data, typed)
        self.backend = GeneratingModel(*parts, beam, place)
        self.model = cast(GatedTransformerModel, parts.model)
        if self.model.encoder.mask_gate is None and self.model.decoder.gates is None:
            raise UserError(f"{path} was trained with --gates none: there is nothing to show")
        self.task = self.backend.task
        options = GenerationConfig(beam=beam, max_len_a=1, max_len_b=200)
        self.generator = self.task.build_generator([self.model], options)
        limits = utils.resolve_max_positions(self.task.max_positions(), self.model.max_positions())
        self.longest = int(limits[0])

    def records(self, sources: Sequence[str], batch_size: int, first: int = 1) -> list[Record]:
        """The records of sources, in order, the first of number ``first``.

        Raises:
            UserError: a line longer than the model reads.
        """
        lines = list(map(self.backend.processing.tokens, sources))
        for number, tokens in enumerate(lines, start=first):
            size = len(tokens) + 1
            if size > self.longest:
                raise UserError(
                    f"line {number}: the source has {size} tokens with </s>; the "
                    f"model takes at most {self.longest}; split the line"
                )
        measures = in_batches(self._measured, lines, map(len, lines), batch_size)
        records = []
        rows = zip(sources, lines, measures, strict=True)
        for number, (source, tokens, values) in enumerate(rows, start=first):
            records.append(Record(number, source, [*tokens, END], **values))
        return records

    def _measured(self, lines: Sequence[Tokens]) -> Iterator[dict[str, Any]]:
        """What a record has beside its source, of a batch: it is searched, then forced.

        Gates and log-probabilities are along each line's hypothesis.
        """
        dictionary, device = self.task.target_dictionary, self.backend.device
        pad, eos = dictionary.pad(), dictionary.eos()
        nbest = self.backend.search(lines, self.generator)
        targets = [hypotheses[0]["tokens"].cpu() for hypotheses in nbest]
        rows = [numbered(line, self.task.source_dictionary) for line in lines]
        source = data_utils.collate_tokens(rows, pad, left_pad=True).to(device)
        target = data_utils.collate_tokens(targets, pad).to(device)
        before = data_utils.collate_tokens(targets, pad, eos, move_eos_to_beginning=True).to(device)
        with torch.no_grad():
            encoder_out = self.model.encoder(source)
            net_output = self.model.decoder(before, encoder_out=encoder_out)
            scores = self.model.get_normalized_probs(net_output, log_probs=True)
        scores = scores.gather(2, target.unsqueeze(2)).squeeze(2)
        masked = encoder_out["memory"][0].masked
        gates = net_output[1].get("gates")
        names = self.model.decoder.gates.names if gates is not None else []
        for i, tokens in enumerate(targets):
            size = len(tokens)
            written = [dictionary[token] for token in tokens[:-1].tolist()]
            measured = {name: gates[i, :size, k] for k, name in enumerate(names)}
            measured["log_probability"] = scores[i, :size]
            if masked is not None:
                measured["mask"] = masked[i][source[i].ne(pad)]
            record: dict[str, Any] = dict.fromkeys(GATES)
            record["target"] = self.backend.processing.text(written)
            record["target_tokens"] = [*written, END]
            for name, values in measured.items():
                numbers = values.double().cpu().tolist()
                record[name] = [round(number, 7) for number in numbers]  # as singles have
            yield record

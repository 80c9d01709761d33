"""Small models of ``enct5``, examples for them, and a slow definition of what they answer."""

import functools
import json
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lev_plugins.systems.enct5 import EncT5Config, EncT5Model
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.problem_types import ProblemType, bits_of

ROWS, NUMBER = 11, 3  # subwords; classes or labels
SIZE = {
    "dim": 8,
    "hidden": 10,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "heads": 2,
    "head_dim": 3,
    "buckets": 8,
    "longest": 6,  # rows are longer
    "eps": 1e-4,  # to be seen beside what it is added to
}
EXACT = {"rtol": 1e-10, "atol": 1e-10}
Row = list[Example]


def task(kind: ProblemType, number: int = NUMBER, pieces: Sequence[str] = ()) -> Namespace:
    """All of a task that a model looks at."""
    data = Namespace(pieces=list(pieces) or [f"piece{i}" for i in range(ROWS)])
    return Namespace(problem_type=kind, num_labels=number, metadata=data)


def build(kind: ProblemType, decoder_layers: int = 1, dropout: float = 0.0) -> EncT5Model:
    """A model as it is initialised."""
    plan = json.dumps({"kind": "t5", "mask": None, "plan": SIZE})
    cfg = EncT5Config(backbone_plan=plan, decoder_layers=decoder_layers, dropout=dropout)
    return EncT5Model.build_model(cfg, task(kind))


def opinionated(model: EncT5Model) -> EncT5Model:
    """With large parameters, norms too, in double precision and evaluation mode."""
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, 1.0 if "norm" in name else 0.0, 0.5)
    return model.double().eval()


@functools.cache
def exact(kind: ProblemType, layers: int = 1) -> EncT5Model:
    """:func:`opinionated`, the same in every test: to be looked at only."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return opinionated(build(kind, decoder_layers=layers))


def example(kind: ProblemType, pieces: int, number: int = NUMBER) -> Example:
    """So many subwords with ``</s>``, subword 0 among them; for tagging some subwords are one
    word.
    """
    is_tagging = kind is ProblemType.TAGGING
    text = torch.randint(0, ROWS, (max(pieces, 1 + is_tagging),))  # a word is one subword at least
    text[-1] = 1
    spans, count = text[:0], 1
    if is_tagging:
        spans = torch.randint(0, 2, text.shape).cumsum(0).clamp(min=1)
        spans[-1] = 0
        count = int(spans.max())
    if kind is ProblemType.REGRESSION:
        return Example(text, spans, bits_of([float(torch.randn(()))]))
    if kind.is_multilabel:
        return Example(text, spans, torch.randperm(number)[: torch.randint(0, number, ())])
    return Example(text, spans, torch.randint(0, number, (count,)))


def answers(model: EncT5Model, rows: Sequence[Row], kind: ProblemType) -> Tensor:
    """Logits of all examples, row after row."""
    return model(**collate(rows, kind, NUMBER))


def loss(
    model: EncT5Model,
    rows: Sequence[Row],
    kind: ProblemType,
    move: Callable[[Any], Any] = lambda value: value,
) -> Tensor:
    """The summed loss of all examples, of whose words none was cut off; ``move``: to a device."""
    targets = kind.targets([example.labels for row in rows for example in row], NUMBER)
    return kind.loss(model(**move(collate(rows, kind, NUMBER))), move(targets))


def slow_answers(model: EncT5Model, kind: ProblemType, examples: Sequence[Example]) -> Tensor:
    """Logits of examples from the paper's definition, one after the other."""
    return torch.cat([slow_answer(model, kind, example) for example in examples])


def slow_answer(model: EncT5Model, kind: ProblemType, example: Example) -> Tensor:
    """P × C, or 1 × N × 2 for multilabel, from what encoder and decoder make of one text."""
    length = len(example.pieces)
    states = model.encoder(model.embed(example.pieces[None]), torch.ones(1, length).bool())
    latents, reads = torch.zeros(1, 1).long(), torch.ones(1, 1, length).bool()
    if kind is ProblemType.TAGGING:
        latents = torch.zeros(1, example.num_words).long()
        reads = torch.arange(1, example.num_words + 1)[None, :, None] == example.word_ids
    if kind is ProblemType.MULTILABEL:
        latents, reads = torch.arange(NUMBER)[None], reads.expand(1, NUMBER, length)
    x = model.decoder(latents, torch.ones_like(latents), states, reads)
    weight, bias = model.head.weight, model.head.bias
    if kind is not ProblemType.MULTILABEL:
        return x @ weight.T + bias
    return torch.stack([weight[i] @ x[i] + bias[i] for i in range(NUMBER)])[None]

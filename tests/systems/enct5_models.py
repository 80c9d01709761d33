"""Small models of ``enct5``, examples for them, and a slow definition of what they answer."""

import functools
import json
import math
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lev_plugins.systems.enct5 import EncT5Config, EncT5Model
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.problem_types import ProblemType, bits_of

ROWS, NUMBER = 11, 3  # subwords; classes or labels
SIZE: dict[str, Any] = {
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
    return Namespace(kind=kind, number=number, metadata=data)


def build(
    kind: ProblemType, decoder_layers: int = 1, dropout: float = 0.0, **size: Any
) -> EncT5Model:
    """A model as it is initialised."""
    plan = json.dumps({"kind": "t5", "mask": None, "plan": {**SIZE, **size}})
    cfg = EncT5Config(backbone_plan=plan, decoder_layers=decoder_layers, dropout=dropout)
    return EncT5Model.build_model(cfg, task(kind))


def opinionated(model: EncT5Model) -> EncT5Model:
    """With large parameters, norms too, in double precision and evaluation mode."""
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, 1.0 if "norm" in name else 0.0, 0.5)
    return model.double().eval()


@functools.cache
def exact(kind: ProblemType, layers: int = 1, feed_forward: str = "gated-gelu") -> EncT5Model:
    """:func:`opinionated`, the same in every test: to be looked at only."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return opinionated(build(kind, decoder_layers=layers, feed_forward=feed_forward))


def example(kind: ProblemType, pieces: int, number: int = NUMBER) -> Example:
    """So many subwords with ``</s>``, subword 0 among them; for tagging some subwords are one
    word.
    """
    text = torch.cat([torch.randint(0, ROWS, (pieces - 1,)), torch.ones(1).long()])
    spans = torch.zeros(0, dtype=torch.long)
    if kind is ProblemType.TAGGING:
        spans = torch.randint(0, 2, (max(pieces - 1, 1),)).cumsum(0).clamp(min=1)
        spans = torch.cat([spans, torch.zeros(1).long()])
        text = text if pieces > 1 else torch.tensor([2, 1])  # a word is one subword at least
        return Example(text, spans, torch.randint(0, number, (int(spans.max()),)))
    if kind is ProblemType.REGRESSION:
        return Example(text, spans, bits_of([float(torch.randn(()))]))
    if kind.many:
        return Example(text, spans, torch.randperm(number)[: torch.randint(0, number, ())])
    return Example(text, spans, torch.randint(0, number, (1,)))


def answers(model: EncT5Model, rows: Sequence[Row], kind: ProblemType) -> Tensor:
    """Logits of all examples, row after row."""
    return model(**collate(rows, kind, NUMBER))


def loss(model: EncT5Model, rows: Sequence[Row], kind: ProblemType) -> Tensor:
    """The summed loss of all examples, of whose words none was cut off."""
    targets = kind.targets([one.labels for row in rows for one in row], NUMBER)
    return kind.loss(answers(model, rows, kind), targets)


def slow_answers(model: EncT5Model, kind: ProblemType, examples: Sequence[Example]) -> Tensor:
    """Logits of examples from EncT5's equations, one after the other, head by head."""
    return torch.cat([slow_answer(model, kind, one) for one in examples])


def slow_answer(model: EncT5Model, kind: ProblemType, one: Example) -> Tensor:
    """P × C, or 1 × N × 2 for multilabel."""
    states = run(model.encoder, model.embed.table.weight[one.pieces])
    words = one.words if kind is ProblemType.TAGGING else 1
    latents = list(range(NUMBER)) if kind is ProblemType.MULTILABEL else [0] * words
    reads = torch.ones(len(latents), len(states), dtype=torch.bool)
    if kind is ProblemType.TAGGING:
        reads = torch.arange(1, words + 1).unsqueeze(1) == one.spans
    x = run(model.decoder, model.decoder.table.weight[latents], states, reads)
    head = model.head
    if kind is not ProblemType.MULTILABEL:
        return x @ head.weight.T + head.bias
    each = [head.weight[i] @ x[i] + head.bias[i] for i in range(NUMBER)]
    return torch.stack(each).unsqueeze(0)


def run(
    stack: nn.Module, x: Tensor, states: Tensor | None = None, reads: Tensor | None = None
) -> Tensor:
    """T × C that all see each other → T × C; of ``states``, S × C, each what ``reads`` says."""
    eps = stack.norm.eps
    bias = places(stack.bias.table.weight, states is None, len(x))
    everything = torch.ones(len(x), len(x), dtype=torch.bool)
    for layer in stack.blocks:
        block = layer if states is None else layer.block
        own = [*block.self_attention.inputs.weight.chunk(3), block.self_attention.output.weight]
        h = norm(x, block.self_norm.weight, eps)
        x = x + attention(h, h, own, bias, everything)
        if states is not None:
            cross = layer.cross_attention
            read = [cross.query.weight, *cross.inputs.weight.chunk(2), cross.output.weight]
            h = norm(x, layer.cross_norm.weight, eps)
            x = x + attention(h, states, read, torch.zeros(len(bias), 1, 1), reads)
        fc1 = block.fc1.weight.chunk(1 + block.gated)
        x = x + feed_forward(norm(x, block.feed_norm.weight, eps), fc1, block.fc2.weight)
    return norm(x, stack.norm.weight, eps)


def norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return weight * x / ((x**2).sum(1, keepdim=True) / x.size(1) + eps).sqrt()


def attention(
    queries: Tensor, keys: Tensor, by: Sequence[Tensor], bias: Tensor, seen: Tensor
) -> Tensor:
    """L × C, T × C → L × C; ``by`` q, k, v: E × C, o: C × E; ``bias`` H × L × T; ``seen`` L × T."""
    heads, (q, k, v, o) = [], by
    for part, place in zip(torch.arange(len(q)).chunk(len(bias)), bias):
        scores = (queries @ q[part].T) @ (keys @ k[part].T).T + place
        weights = torch.where(seen, scores.exp(), 0.0)
        heads.append(weights / weights.sum(1, keepdim=True) @ (keys @ v[part].T))
    return torch.cat(heads, 1) @ o.T


def feed_forward(x: Tensor, fc1: Sequence[Tensor], fc2: Tensor) -> Tensor:
    if len(fc1) == 1:
        return (x @ fc1[0].T).clamp(min=0) @ fc2.T
    gate, linear = (x @ part.T for part in fc1)
    inner = math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)
    return (0.5 * gate * (1 + torch.tanh(inner)) * linear) @ fc2.T


def places(table: Tensor, both_ways: bool, length: int) -> Tensor:
    """H × T × T from buckets × H."""
    rows = [
        [bucket(key - query, both_ways) for key in range(length)]  # how far ahead the key is
        for query in range(length)
    ]
    return table[torch.tensor(rows)].permute(2, 0, 1)


def bucket(ahead: int, both_ways: bool) -> int:
    """T5's bucket of a distance (Raffel et al., 2020, §2.1)."""
    count, later = SIZE["buckets"], 0
    distance = max(-ahead, 0)
    if both_ways:
        count //= 2
        later, distance = count if ahead > 0 else 0, abs(ahead)
    exactly = count // 2
    if distance < exactly:
        return later + distance
    growth = math.log(distance / exactly) / math.log(SIZE["longest"] / exactly)
    return later + min(count - 1, exactly + int(growth * (count - exactly)))

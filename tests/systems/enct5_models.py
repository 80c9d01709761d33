"""Small models of ``enct5``, examples for them, and a slow definition of what they answer."""

import functools
import json
import math
from argparse import Namespace
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lev_plugins.nn.t5 import T5Block
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
    return Namespace(kind=kind, number=number, metadata=data, trains=False)


def build(
    kind: ProblemType,
    number: int = NUMBER,
    decoder_layers: int = 1,
    dropout: float = 0.0,
    **size: Any,
) -> EncT5Model:
    """A model as it is initialised."""
    plan = json.dumps({"kind": "t5", "mask": None, "plan": {**SIZE, **size}})
    cfg = EncT5Config(backbone_plan=plan, decoder_layers=decoder_layers, dropout=dropout)
    return EncT5Model.build_model(cfg, task(kind, number))


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


def widened(batch: dict[str, Tensor], pieces: int, latents: int) -> dict[str, Tensor]:
    """A batch with more padding, on which anything may stand but segment and span 0."""
    found = {}
    for name, value in batch.items():
        more = latents if name.startswith("latent") else pieces
        filler = torch.zeros(len(value), more, dtype=torch.long)
        if name == "tokens":
            filler = torch.randint(0, ROWS, filler.shape)
        found[name] = torch.cat([value, filler], 1)
    return found


def answers(
    model: EncT5Model, rows: Sequence[Row], kind: ProblemType, number: int = NUMBER
) -> Tensor:
    """Logits of all examples, row after row."""
    return model(**collate(rows, kind, number))


def loss(model: EncT5Model, rows: Sequence[Row], kind: ProblemType, number: int = NUMBER) -> Tensor:
    """The summed loss of all examples."""
    return kind.loss(answers(model, rows, kind, number), labelled(kind, rows, number))


def labelled(kind: ProblemType, rows: Sequence[Row], number: int = NUMBER) -> Tensor:
    """The targets of rows, words that were cut off left out."""
    tagging = kind is ProblemType.TAGGING
    labels = [one.labels[: one.words] if tagging else one.labels for row in rows for one in row]
    return kind.targets(labels, number)


class Projections(NamedTuple):
    """Of an attention, each E × C, the last C × E."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor


class Layer(NamedTuple):
    """Of a stack. norms: of each sub-layer. fc1: gate, if there is one, and the other part."""

    norms: list[Tensor]
    own: Projections
    cross: Projections | None
    fc1: list[Tensor]
    fc2: Tensor


class Stack(NamedTuple):
    """An encoder or decoder. places: the bias of each distance, buckets × H."""

    layers: list[Layer]
    places: Tensor
    norm: Tensor
    both_ways: bool
    eps: float

    def run(self, x: Tensor, states: Tensor | None = None, reads: Tensor | None = None) -> Tensor:
        """T × C that all see each other → T × C; of ``states``, S × C, each what ``reads`` says."""
        bias = places(self.places, self.both_ways, len(x))
        seen = torch.ones(len(x), len(x)).bool()
        for layer in self.layers:
            h = norm(x, layer.norms[0], self.eps)
            x = x + attention(h, h, layer.own, bias, seen)
            if layer.cross is not None:
                h = norm(x, layer.norms[1], self.eps)
                x = x + attention(h, states, layer.cross, torch.zeros(len(bias), 1, 1), reads)
            x = x + feed_forward(norm(x, layer.norms[-1], self.eps), layer.fc1, layer.fc2)
        return norm(x, self.norm, self.eps)


def encoder_of(model: EncT5Model) -> Stack:
    encoder = model.encoder
    layers = [_layer(block) for block in encoder.blocks]
    return Stack(layers, encoder.bias.table.weight, encoder.norm.weight, True, encoder.norm.eps)


def decoder_of(model: EncT5Model) -> Stack:
    decoder, layers = model.decoder, []
    for block in decoder.blocks:
        own, cross = _layer(block.block), block.cross_attention
        norms = [own.norms[0], block.cross_norm.weight, own.norms[1]]
        k, v = cross.inputs.weight.chunk(2)
        read = Projections(cross.query.weight, k, v, cross.output.weight)
        layers.append(own._replace(norms=norms, cross=read))
    return Stack(layers, decoder.bias.table.weight, decoder.norm.weight, False, decoder.norm.eps)


def _layer(block: T5Block) -> Layer:
    q, k, v = block.self_attention.inputs.weight.chunk(3)
    own = Projections(q, k, v, block.self_attention.output.weight)
    norms = [block.self_norm.weight, block.feed_norm.weight]
    fc1 = list(block.fc1.weight.chunk(1 + block.gated))
    return Layer(norms, own, None, fc1, block.fc2.weight)


class Slow:
    """EncT5 from its equations, one example after the other, head by head."""

    def __init__(self, model: EncT5Model, kind: ProblemType, number: int = NUMBER) -> None:
        self.model, self.kind, self.number = model, kind, number
        self.encoder, self.decoder = encoder_of(model), decoder_of(model)

    def answers(self, examples: Sequence[Example]) -> Tensor:
        """Logits of examples that know nothing of each other."""
        return torch.cat([self.answer(one) for one in examples])

    def answer(self, one: Example) -> Tensor:
        """Logits of one example, P × C, or 1 × N × 2 for multilabel."""
        states = self.encode(one.pieces)
        words = one.words if self.kind is ProblemType.TAGGING else 1
        latents = list(range(self.number)) if self.kind is ProblemType.MULTILABEL else [0] * words
        reads = torch.ones(len(latents), len(states), dtype=torch.bool)
        if self.kind is ProblemType.TAGGING:
            reads = torch.arange(1, words + 1).unsqueeze(1) == one.spans
        x = self.decoder.run(self.model.decoder.table.weight[latents], states, reads)
        head = self.model.head
        if self.kind is not ProblemType.MULTILABEL:
            return x @ head.weight.T + head.bias
        each = [head.weight[i] @ x[i] + head.bias[i] for i in range(self.number)]
        return torch.stack(each).unsqueeze(0)

    def encode(self, pieces: Tensor) -> Tensor:
        """T → T × C."""
        return self.encoder.run(self.model.embed.table.weight[pieces])


def norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return weight * x / ((x**2).sum(1, keepdim=True) / x.size(1) + eps).sqrt()


def attention(queries: Tensor, keys: Tensor, by: Projections, bias: Tensor, seen: Tensor) -> Tensor:
    """L × C, T × C → L × C; ``bias`` H × L × T; ``seen`` L × T."""
    heads = []
    for part, place in zip(torch.arange(len(by.q)).chunk(len(bias)), bias):
        scores = (queries @ by.q[part].T) @ (keys @ by.k[part].T).T + place
        weights = torch.where(seen, scores.exp(), 0.0)
        heads.append(weights / weights.sum(1, keepdim=True) @ (keys @ by.v[part].T))
    return torch.cat(heads, 1) @ by.o.T


def feed_forward(x: Tensor, fc1: list[Tensor], fc2: Tensor) -> Tensor:
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
    count = SIZE["buckets"]
    if both_ways:
        count //= 2
        return (count if ahead > 0 else 0) + _one_way(abs(ahead), count)
    return _one_way(max(-ahead, 0), count)


def _one_way(distance: int, count: int) -> int:
    exactly, longest = count // 2, SIZE["longest"]
    if distance < exactly:
        return distance
    growth = math.log(distance / exactly) / math.log(longest / exactly)
    return min(count - 1, exactly + int(growth * (count - exactly)))

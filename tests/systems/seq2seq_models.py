"""Small models that write from left to right, sentences for them, and what they answer.

A sentence is a source and a target, strings of letters; both end in </s>, which is not written.
What all of these systems have to keep to stands in ``test_seq2seq.py``.
"""

import itertools
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tiny
import torch
import torch.nn.functional as F
from closeness import assert_near
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor, nn

EXACT = {"rtol": 1e-10, "atol": 1e-10}
SIZES: dict[str, Any] = {
    "encoder_embed_dim": 8,
    "encoder_ffn_embed_dim": 12,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "dropout": 0.0,
    "max_source_positions": 32,
    "max_target_positions": 32,
}
#: where padding stands, and how many columns of it there are on both sides
LAYOUTS = [
    {"left": left, "left_target": left_target, "extra": extra}
    for left, left_target, extra in itertools.product([True, False], [True, False], [0, 2])
]


class Pair(NamedTuple):
    """A source and its target."""

    source: str
    target: str


class Batch(NamedTuple):
    """Padded tokens: B × S, B × T, B × T."""

    source: Tensor
    before: Tensor
    target: Tensor


class Answer(NamedTuple):
    """What is said of one sentence: T × V; of a model with gates T × G, and u, S."""

    logits: Tensor
    gates: Tensor | None
    masked: Tensor | None


def task(source: Dictionary, target: Dictionary | None = None) -> Namespace:
    """All of a task that a model looks at."""
    return Namespace(source_dictionary=source, target_dictionary=target or source)


def tokens(text: str, symbols: Dictionary) -> Tensor:
    """Letters and </s>."""
    return tiny.sentence(text, symbols)[1:]


def shifted(text: str, symbols: Dictionary) -> Tensor:
    """</s> and letters: what the decoder reads."""
    return tokens(text, symbols).roll(1)


@dataclass(frozen=True)
class Seq2Seq:
    """One system.

    config, model: its classes. symbols: its dictionary. rows: sentences to try. kinds: options of
    all that is tried; search: the names of those for what takes long. seeds: those with which
    the models of ``search`` end sentences of several lengths. joins: the source is ``source </s>
    draft </s>``. exact: nothing is computed in less than double precision. left_target: targets
    may be padded on the left. untrained: tables whose padding is in the loss but never trained.
    """

    config: Callable[..., Any]
    model: Any
    symbols: Dictionary
    rows: Sequence[Any]
    kinds: dict[str, dict[str, Any]]
    search: Sequence[str]
    seeds: Sequence[int]
    joins: bool = False
    exact: bool = True
    left_target: bool = True
    untrained: tuple[str, ...] = ()

    # models -----------------------------------------------------------------------------------

    def new(
        self,
        seed: int = 1,
        source: Dictionary | None = None,
        target: Dictionary | None = None,
        **values: Any,
    ) -> Any:
        """A model as it starts."""
        torch.manual_seed(seed)
        cfg = self.config(**{**SIZES, **values})
        return self.model.build_model(cfg, task(source or self.symbols, target))

    def build(self, seed: int = 1, factor: float = 2.0, **values: Any) -> Any:
        """A model in double precision, far from undecided."""
        made = self.new(seed, **values)
        for name, parameter in made.named_parameters():
            if name.endswith("bias"):  # new ones are zero: nothing would be seen of them
                nn.init.normal_(parameter, std=0.2)
            elif not parameter.any():  # gates that start nearly closed, whatever they look at
                nn.init.xavier_uniform_(parameter)
        return tiny.sharpen(made, factor).double().eval()

    def lively(self, kind: str) -> Any:
        """A model that ends sentences of several lengths."""
        return self.build(self.seeds[self.search.index(kind)], 1.5, **self.kinds[kind])

    # batches ----------------------------------------------------------------------------------

    def source(self, row: Any) -> Tensor:
        """What the encoder reads of a sentence."""
        read = [tokens(row.source, self.symbols)]
        return torch.cat(read + [tokens(row.draft, self.symbols)] if self.joins else read)

    def batch(
        self,
        rows: Sequence[Any],
        left: bool = False,
        left_target: bool = False,
        extra: int = 0,
        target: Dictionary | None = None,
    ) -> Batch:
        """``left``, ``left_target``: where the padding is; ``extra``: columns on both sides."""
        symbols, pad = target or self.symbols, self.symbols.pad()
        return Batch(
            tiny.stack([self.source(row) for row in rows], pad, left, extra),
            tiny.stack([shifted(row.target, symbols) for row in rows], pad, left_target, extra),
            tiny.stack([tokens(row.target, symbols) for row in rows], pad, left_target, extra),
        )

    def layouts(self) -> list[dict[str, Any]]:
        return [one for one in LAYOUTS if self.left_target or not one["left_target"]]

    def sample(self, rows: Sequence[Any], left: bool = True) -> dict[str, Any]:
        """A batch as fairseq's task ``translation`` makes it."""
        made, pad = self.batch(rows, left=left), self.symbols.pad()
        return {
            "id": torch.arange(len(rows)),
            "nsentences": len(rows),
            "ntokens": int(made.target.ne(pad).sum()),
            "net_input": {
                "src_tokens": made.source,
                "src_lengths": made.source.ne(pad).sum(1),
                "prev_output_tokens": made.before,
            },
            "target": made.target,
        }

    # what a model says ------------------------------------------------------------------------

    def answers(self, model: Any, rows: Sequence[Any], **layout: Any) -> list[Answer]:
        """For every sentence what is said at its own tokens."""
        made = self.batch(rows, **layout)
        encoder_out = model.encoder(made.source)
        scores, extra = model.decoder(made.before, encoder_out=encoder_out)
        return self.cut(made, scores, extra.get("gates"), encoder_out)

    def stepwise(self, model: Any, rows: Sequence[Any], **layout: Any) -> list[Answer]:
        """What :meth:`answers` gives, written one token after the other with a state."""
        made = self.batch(rows, **layout)
        encoder_out, state = model.encoder(made.source), {}
        steps, gates = [], []
        for end in range(1, made.before.size(1) + 1):
            step, extra = model.decoder(
                made.before[:, :end], encoder_out=encoder_out, incremental_state=state
            )
            assert step.shape[:2] == (len(rows), 1)
            steps.append(step)
            gates.append(extra.get("gates"))
        found = None if gates[0] is None else torch.cat(gates, 1)
        return self.cut(made, torch.cat(steps, 1), found, encoder_out)

    def cut(
        self, made: Batch, scores: Tensor, gates: Tensor | None, encoder_out: Any
    ) -> list[Answer]:
        """A batch's answers at the tokens of each sentence."""
        pad = self.symbols.pad()
        places, sources = made.target.ne(pad), made.source.ne(pad)
        masked = getattr(encoder_out.get("memory", [None])[0], "masked", None)
        return [
            Answer(
                scores[i][places[i]],
                None if gates is None else gates[i][places[i]],
                None if masked is None else masked[i][sources[i]],
            )
            for i in range(len(made.source))
        ]

    def logits(self, model: Any, rows: Sequence[Any], **layout: Any) -> list[Tensor]:
        """For every sentence the logits at its own target tokens."""
        return [one.logits for one in self.answers(model, rows, **layout)]

    def loss_of(self, model: Any, rows: Sequence[Any], **layout: Any) -> Tensor:
        """The summed cross-entropy of a batch, in nats."""
        made, pad = self.batch(rows, **layout), self.symbols.pad()
        # fairseq's own log_softmax would round to single precision
        scores = model(made.source, made.source.ne(pad).sum(1), made.before)[0].log_softmax(-1)
        labels = made.target.flatten()
        return F.nll_loss(scores.flatten(0, 1), labels, ignore_index=pad, reduction="sum")

    def searched(
        self,
        models: Sequence[Any],
        rows: Sequence[Any],
        left: bool = True,
        cls: Any = SequenceGenerator,
        prefix: Tensor | None = None,
        **options: Any,
    ) -> list[list[dict[str, Any]]]:
        """What beam search finds, four hypotheses a sentence."""
        generator = cls(models, self.symbols, **{"beam_size": 4, "max_len_b": 14, **options})
        return generator.generate(models, self.sample(rows, left), prefix_tokens=prefix)

    def forced(self, models: Sequence[Any], row: Any, hypothesis: Tensor) -> Tensor:
        """Log-probabilities of a hypothesis, the mean of several models' probabilities."""
        before = hypothesis.roll(1)[None]
        source = self.source(row)[None]
        lengths = torch.tensor([source.size(1)])
        said = [model(source, lengths, before)[0][0].double().softmax(-1) for model in models]
        return torch.stack(said).mean(0).log().gather(1, hypothesis[:, None])[:, 0].float()

    def same(self, first: Iterable[Any], second: Iterable[Any]) -> None:
        """Equal but for what the last digits of this system's precision are."""
        assert_same(first, second, near=not self.exact)


def assert_same(
    first: Iterable[Any],
    second: Iterable[Any],
    rtol: float = 1e-10,
    atol: float = 1e-10,
    near: bool = False,
) -> None:
    """Answers, or tensors alone, are equal; ``near``: as far as single precision can tell."""
    for one, other in zip(first, second, strict=True):
        parts = ((one,), (other,)) if torch.is_tensor(one) else (one, other)
        for left, right in zip(*parts, strict=True):
            assert (left is None) == (right is None)
            if left is not None and near:
                assert_near(left, right)
            elif left is not None:
                torch.testing.assert_close(left, right, rtol=rtol, atol=atol)


# fairseq's own Transformer --------------------------------------------------------------------


def stock(symbols: Dictionary, **values: Any) -> TransformerModel:
    """fairseq's Transformer with the options of ours; its decoder has its own."""
    merged = {"decoder_layers": 2, **SIZES, **values}
    for name in ("embed_dim", "ffn_embed_dim", "attention_heads", "normalize_before",
                 "learned_pos"):  # fmt: skip
        if f"encoder_{name}" in merged:
            merged[f"decoder_{name}"] = merged[f"encoder_{name}"]
    args = Namespace(**merged)
    base_architecture(args)
    torch.manual_seed(4)
    return TransformerModel.build_model(args, task(symbols)).eval()


_LAYER = {
    "fc1": "fc1",
    "fc2": "fc2",
    "self_attn_layer_norm": "self_norm",
    "encoder_attn_layer_norm": "cross_norm",
    "final_layer_norm": "feed_norm",
}
_ATTENTION = {
    "self_attention.inputs": ("self_attn", ("q_proj", "k_proj", "v_proj")),
    "self_attention.output": ("self_attn", ("out_proj",)),
    "cross_attention.query": ("encoder_attn", ("q_proj",)),
    "cross_attention.inputs": ("encoder_attn", ("k_proj", "v_proj")),
    "cross_attention.output": ("encoder_attn", ("out_proj",)),
}


def _side(state: dict[str, Tensor], side: str, layers: int) -> dict[str, Tensor]:
    """An encoder's or a decoder's parameters of one kind, weights or biases left out."""
    made = {
        f"{side}.embed.table.weight": state[f"{side}.embed_tokens.weight"],
        f"{side}.embed.positions.weight": state.get(f"{side}.embed_positions.weight"),
    }
    for kind in ("weight", "bias"):
        made[f"{side}.norm.{kind}"] = state.get(f"{side}.layer_norm.{kind}")
        for number in range(layers):
            theirs, block = f"{side}.layers.{number}", f"{side}.blocks.{number}"
            own = f"{block}.block" if side == "decoder" else block
            for name, ours in _LAYER.items():
                where = block if ours == "cross_norm" else own
                made[f"{where}.{ours}.{kind}"] = state.get(f"{theirs}.{name}.{kind}")
            for ours, (part, names) in _ATTENTION.items():
                where = block if part == "encoder_attn" else own
                found = [state.get(f"{theirs}.{part}.{name}.{kind}") for name in names]
                made[f"{where}.{ours}.{kind}"] = None if found[0] is None else torch.cat(found)
    return made


def converted(theirs: TransformerModel) -> dict[str, Tensor]:
    """The parameters of fairseq's Transformer under the names of ours."""
    state = theirs.state_dict()
    made = {"decoder.output.table.weight": state["decoder.output_projection.weight"]}
    for side in ("encoder", "decoder"):
        made |= _side(state, side, len(getattr(theirs, side).layers))
    return {name: value for name, value in made.items() if value is not None}

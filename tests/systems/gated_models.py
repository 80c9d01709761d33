"""Small models of ``gated_transformer``, sentences for them, and what they answer.

A sentence is a source and a target, strings of letters; both end in </s>, which is not written.
"""

import itertools
from argparse import Namespace
from collections.abc import Sequence
from typing import Any, NamedTuple

import tiny
import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

MASK = "<mask>"


def dictionary(letters: str = tiny.LETTERS, mask: str | None = MASK) -> Dictionary:
    """Letters, and behind them the mask symbol."""
    made = tiny.dictionary(letters)
    if mask is not None:
        made.add_symbol(mask)
    return made


SYMBOLS = dictionary()
# of the source's letters f, g and h are not in it, and those that are have other numbers
OTHERS = dictionary("xyzedcba")
PAD, EOS = SYMBOLS.pad(), SYMBOLS.eos()
SIZES: dict[str, Any] = {
    "encoder_embed_dim": 8,
    "encoder_ffn_embed_dim": 12,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_layers": 2,
    "dropout": 0.0,
    "max_source_positions": 32,
    "max_target_positions": 32,
}
DIVERSITY = ("paper", "code", "pointer")
ALL = "mask,copy,generate,skip"
EXACT = {"rtol": 1e-10, "atol": 1e-10}
PRE = {"encoder_normalize_before": True}


class Pair(NamedTuple):
    """A source and its target."""

    source: str
    target: str


# sources shorter and longer than targets, as long, and empty
ROWS = [
    Pair("abcd", "abcdeabc"),
    Pair("hgfedcba", "bag"),
    Pair("cafe", "cafe"),
    Pair("abcdefgh", ""),
    Pair("", "dada"),
    Pair("", ""),
]

_NAMES = ("mask", "copy", "generate", "skip")
SUBSETS = ["none"] + [
    ",".join(names)
    for count in range(1, len(_NAMES) + 1)
    for names in itertools.combinations(_NAMES, count)
]


def allowed(gates: str, variant: str) -> bool:
    """Whether the variant works with these gates."""
    decoding = [name for name in gates.split(",") if name not in ("none", "mask")]
    return variant != "pointer" or not decoding or "generate" in decoding


KINDS: dict[str, dict[str, Any]] = {
    f"{variant}, {gates}, {norm}": {"gate_variant": variant, "gates": gates, **values}
    for variant, gates, (norm, values) in itertools.product(
        DIVERSITY,
        ("none", "mask,generate", "copy,generate", ALL),
        (("post-norm", {}), ("pre-norm", PRE)),
    )
    if gates != "none" or variant == "paper"
}
KINDS["pointer, all, learned positions, one table"] = {
    "gate_variant": "pointer",
    "encoder_learned_pos": True,
    "share_all_embeddings": True,
}
KINDS["paper, all, deep decoder"] = {
    "decoder_layers": 3,
    "share_decoder_input_output_embed": True,
    "activation_fn": "gelu",
    **PRE,
}
# one of each variant, for what takes long
SEARCH = [f"{variant}, {ALL}, post-norm" for variant in DIVERSITY]


def task(source: Dictionary = SYMBOLS, target: Dictionary | None = None) -> Namespace:
    """All of a task that a model looks at."""
    return Namespace(source_dictionary=source, target_dictionary=target or source)


def build(
    seed: int = 1,
    factor: float = 2.0,
    source: Dictionary = SYMBOLS,
    target: Dictionary | None = None,
    **values: Any,
) -> GatedTransformerModel:
    """A model in double precision, far from undecided."""
    torch.manual_seed(seed)
    cfg = GatedTransformerConfig(**{**SIZES, **values})
    made = GatedTransformerModel.build_model(cfg, task(source, target))
    for name, parameter in made.named_parameters():
        if name.endswith("bias"):  # new ones are zero: nothing would be seen of them
            torch.nn.init.normal_(parameter, std=0.2)
        elif not parameter.any():  # gates that start nearly closed, whatever they look at
            torch.nn.init.xavier_uniform_(parameter)
    return tiny.sharpen(made, factor).double().eval()


def tokens(text: str, symbols: Dictionary = SYMBOLS) -> Tensor:
    """Letters and </s>."""
    return tiny.sentence(text, symbols)[1:]


def shifted(text: str, symbols: Dictionary = SYMBOLS) -> Tensor:
    """</s> and letters: what the decoder reads."""
    row = tokens(text, symbols)
    return torch.cat([row[-1:], row[:-1]])


class Batch(NamedTuple):
    """Padded tokens: B × S, B × T, B × T."""

    source: Tensor
    before: Tensor
    target: Tensor


def batch(
    rows: Sequence[Pair],
    left: bool = False,
    left_target: bool = False,
    extra: int = 0,
    target: Dictionary = SYMBOLS,
) -> Batch:
    """``left``, ``left_target``: where the padding is. ``extra``: columns of it on both sides."""
    return Batch(
        tiny.stack([tokens(row.source) for row in rows], PAD, left, extra),
        tiny.stack([shifted(row.target, target) for row in rows], PAD, left_target, extra),
        tiny.stack([tokens(row.target, target) for row in rows], PAD, left_target, extra),
    )


class Answer(NamedTuple):
    """What is said of one sentence: T × V, T × G or None, and u, S or None."""

    logits: Tensor
    gates: Tensor | None
    masked: Tensor | None


def answers(model: GatedTransformerModel, rows: Sequence[Pair], **layout: Any) -> list[Answer]:
    """For every sentence what is said at its own tokens."""
    made = batch(rows, **layout)
    encoder_out = model.encoder(made.source)
    scores, extra = model.decoder(made.before, encoder_out=encoder_out)
    return cut(made, scores, extra.get("gates"), encoder_out["memory"][0].masked)


def stepwise(model: GatedTransformerModel, rows: Sequence[Pair], **layout: Any) -> list[Answer]:
    """What :func:`answers` gives, written one token after the other with a state."""
    made = batch(rows, **layout)
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
    return cut(made, torch.cat(steps, 1), found, encoder_out["memory"][0].masked)


def cut(made: Batch, scores: Tensor, gates: Tensor | None, masked: Tensor | None) -> list[Answer]:
    """A batch's answers at the tokens of each sentence."""
    places, sources = made.target.ne(PAD), made.source.ne(PAD)
    return [
        Answer(
            scores[i][places[i]],
            None if gates is None else gates[i][places[i]],
            None if masked is None else masked[i][sources[i]],
        )
        for i in range(len(made.source))
    ]


def assert_same(
    first: Sequence[Answer], second: Sequence[Answer], rtol: float = 1e-10, atol: float = 1e-10
) -> None:
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        for left, right in zip(one, other, strict=True):
            assert (left is None) == (right is None)
            if left is not None:
                assert left.shape == right.shape
                torch.testing.assert_close(left, right, rtol=rtol, atol=atol)


def sample(rows: Sequence[Pair], left: bool = True) -> dict[str, Any]:
    """A batch as fairseq's task ``translation`` makes it."""
    made = batch(rows, left=left)
    return {
        "id": torch.arange(len(rows)),
        "nsentences": len(rows),
        "ntokens": int(made.target.ne(PAD).sum()),
        "net_input": {
            "src_tokens": made.source,
            "src_lengths": made.source.ne(PAD).sum(1),
            "prev_output_tokens": made.before,
        },
        "target": made.target,
    }

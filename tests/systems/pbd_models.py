"""Small models of ``pbd_transformer``, sentences for them, and what they answer.

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

from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel

SYMBOLS = tiny.dictionary()
PAD, EOS = SYMBOLS.pad(), SYMBOLS.eos()
SIZES: dict[str, Any] = {
    "encoder_embed_dim": 8,
    "encoder_ffn_embed_dim": 12,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "dropout": 0.0,
    "max_source_positions": 32,
    "max_target_positions": 32,
}
EXACT = {"rtol": 1e-10, "atol": 1e-10}


class Pair(NamedTuple):
    """A source and its target."""

    source: str
    target: str


# sources shorter and longer than targets, as long, and empty
ROWS = [
    Pair("abcd", "abcdefgh"),
    Pair("hgfedcba", "hag"),
    Pair("cafe", "cafe"),
    Pair("abcdefgh", ""),
    Pair("", "dada"),
    Pair("", ""),
]

_KINDS: dict[str, dict[str, Any]] = {
    "as published": {},
    "no future": {"no_future_modelling": True},
    "no sharing": {"no_parameter_sharing": True},
    "no segments": {"no_segment_embedding": True},
    "outputs copied": {"copied_states": "output"},
    "learned positions": {"encoder_learned_pos": True},
    "no sharing, outputs copied, one table": {
        "no_parameter_sharing": True,
        "copied_states": "output",
        "share_all_embeddings": True,
        "encoder_learned_pos": True,
        "activation_fn": "gelu",
    },
    "no sharing, no future, deep decoder": {
        "no_parameter_sharing": True,
        "no_future_modelling": True,
        "share_decoder_input_output_embed": True,
        "decoder_layers": 3,
    },
    "nothing of it": {
        "no_parameter_sharing": True,
        "no_future_modelling": True,
        "no_segment_embedding": True,
    },
}
KINDS = {
    f"{name}, {norm}": {**values, "encoder_normalize_before": norm == "pre-norm"}
    for (name, values), norm in itertools.product(_KINDS.items(), ("post-norm", "pre-norm"))
}
NORMS = {"post-norm": {}, "pre-norm": {"encoder_normalize_before": True}}


def task(source: Dictionary = SYMBOLS, target: Dictionary | None = None) -> Namespace:
    """All of a task that a model looks at."""
    return Namespace(source_dictionary=source, target_dictionary=target or source)


def build(seed: int = 1, factor: float = 2.0, **values: Any) -> PBDTransformerModel:
    """A model in double precision, far from undecided."""
    torch.manual_seed(seed)
    cfg = PBDTransformerConfig(**{**SIZES, **values})
    return tiny.sharpen(PBDTransformerModel.build_model(cfg, task()), factor).double().eval()


def tokens(text: str) -> Tensor:
    """Letters and </s>."""
    return tiny.sentence(text, SYMBOLS)[1:]


def shifted(text: str) -> Tensor:
    """</s> and letters: what the decoder reads."""
    row = tokens(text)
    return torch.cat([row[-1:], row[:-1]])


class Batch(NamedTuple):
    """Padded tokens: B × S, B × T, B × T."""

    source: Tensor
    before: Tensor
    target: Tensor


def batch(
    rows: Sequence[Pair], left: bool = False, left_target: bool = False, extra: int = 0
) -> Batch:
    """``left``, ``left_target``: where the padding is. ``extra``: columns of it on both sides."""
    return Batch(
        tiny.stack([tokens(row.source) for row in rows], PAD, left, extra),
        tiny.stack([shifted(row.target) for row in rows], PAD, left_target, extra),
        tiny.stack([tokens(row.target) for row in rows], PAD, left_target, extra),
    )


def logits(model: PBDTransformerModel, rows: Sequence[Pair], **layout: Any) -> list[Tensor]:
    """For every sentence the logits at its own target tokens."""
    made = batch(rows, **layout)
    scores, _ = model(made.source, made.source.ne(PAD).sum(1), made.before)
    return [row[real] for row, real in zip(scores, made.target.ne(PAD), strict=True)]


def assert_same(
    first: Sequence[Tensor], second: Sequence[Tensor], rtol: float = 1e-10, atol: float = 1e-10
) -> None:
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert one.shape == other.shape
        torch.testing.assert_close(one, other, rtol=rtol, atol=atol)


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

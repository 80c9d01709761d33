"""What decides in the place of untrained heads, the same for fairseq's LevT and ours.

A sentence grows to the length of its source at once, in one slot. Then about one in twenty-nine
inner tokens goes, by a number made of the token, its position and the whole sentence, and as many
as are missing come, one for each slot from the left. Special symbols are never written; other
tokens are the model's choice. Sentences of 25 tokens take two or three iterations (paper, Table 6:
2.43).
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

SCRIPTED = 1e4  # a logit that no untrained head reaches
PERIOD = 29  # one in so many tokens goes
SPECIAL = 4  # symbols that are never written


def deletion(tokens: Tensor, logits: Tensor) -> Tensor:
    """B × T × 2."""
    position = torch.arange(tokens.size(1), device=tokens.device)
    state = (tokens * position * (tokens != 1)).sum(1)[:, None]
    goes = (13 * tokens + 7 * position * position + state) % PERIOD == 0
    logits[..., 1] = torch.where(goes, SCRIPTED, -SCRIPTED).to(logits)
    return logits


def placeholder(tokens: Tensor, wanted: Tensor, logits: Tensor) -> Tensor:
    """B × (T − 1) × (K + 1); ``wanted``: B, length with <s> and </s>."""
    slot = torch.arange(logits.size(1), device=tokens.device)
    lengths = tokens.ne(1).sum(1)
    missing = (wanted - lengths).clip(0)[:, None]
    slots = (lengths - 1)[:, None]
    counts = missing // slots + (slot < missing % slots)
    counts = counts.clamp(max=logits.size(2) - 1)
    return logits.scatter(2, counts.unsqueeze(2), SCRIPTED)


def token(logits: Tensor) -> Tensor:
    """… × V."""
    logits[..., :SPECIAL] = -SCRIPTED
    return logits


@contextlib.contextmanager
def scripted(stock: Any, ours: Iterable[Any]) -> Iterator[None]:
    """Lets the script decide for all models inside the block; every head is still computed.

    Args:
        stock: fairseq's LevenshteinTransformerModel.
        ours: our models.
    """
    replaced = {model: _our_heads(model) for model in ours}
    replaced[stock.decoder] = _stock_heads(stock.decoder)
    for module, methods in replaced.items():
        vars(module).update(methods)
    try:
        yield
    finally:
        for module, methods in replaced.items():
            for name in methods:
                del vars(module)[name]


def _stock_heads(decoder: Any) -> dict[str, Callable[..., Any]]:
    delete, insert, fill = (
        getattr(decoder, f"forward_{name}") for name in ("word_del", "mask_ins", "word_ins")
    )

    def word_del(prev_output_tokens: Tensor, **options: Any) -> Any:
        out, attention = delete(prev_output_tokens=prev_output_tokens, **options)
        return deletion(prev_output_tokens, out), attention

    def mask_ins(prev_output_tokens: Tensor, encoder_out: Any, **options: Any) -> Any:
        inputs = {"prev_output_tokens": prev_output_tokens, "encoder_out": encoder_out}
        out, attention = insert(**inputs, **options)
        wanted = (~encoder_out["encoder_padding_mask"][0]).sum(1)
        return placeholder(prev_output_tokens, wanted, out), attention

    def word_ins(**options: Any) -> Any:
        out, attention = fill(**options)
        return token(out), attention

    heads = (word_del, mask_ins, word_ins)
    return {f"forward_{head.__name__}": head for head in heads}


def _our_heads(model: Any) -> dict[str, Callable[..., Any]]:
    says = model.head_logits

    def head_logits(head: str, features: Tensor, state: Any) -> Tensor:
        out = says(head, features, state)
        if head == "deletion":
            return deletion(state.tokens, out)
        if head == "token":
            return token(out)
        real = state.encoder_out.source.ne(model.pad)
        return placeholder(state.tokens, real.sum(1), out)

    return {"head_logits": head_logits}

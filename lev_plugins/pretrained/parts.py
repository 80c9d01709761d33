"""What the kinds of checkpoints share."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from ..errors import UserError
from ..nn.t5 import ACTIVATIONS as ACTIVATIONS
from ..nn.t5 import FEED_FORWARD
from ..nn.transformer import TransformerBlock
from .directory import Config, Weights

#: heads of fine-tuned models, for classes and for answers to questions
HEADS = r"(classifier|classification_head|qa_outputs)\.[\w.]+"


@dataclass
class Dropouts:
    """Of a model's states, attention weights and feed-forward layers."""

    dropout: float
    attention: float
    activation: float


def check_plan(plan: Any) -> None:
    """Raises :class:`ValueError` where a plan, or a plan in it, holds what it should not."""
    for field in dataclasses.fields(plan):
        value = getattr(plan, field.name)
        if dataclasses.is_dataclass(value):
            check_plan(value)
            continue
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if field.type is float:
            right = number and 0 <= value < 1
        elif field.type is int:
            right = number and isinstance(value, int) and 0 < value < 2**24
        else:
            right = isinstance(field.type, type) and isinstance(value, field.type)
        if right and isinstance(value, str):
            right = value in (FEED_FORWARD if field.name == "feed_forward" else ACTIVATIONS)
        if not right:
            raise ValueError(f"{field.name} is {value!r}")


def post_norm_block(
    dim: int, heads: int, hidden: int, dropouts: Dropouts, activation: str, eps: float
) -> TransformerBlock:
    """A block with a norm after each layer, randomly initialised; the activation by its name."""
    block = TransformerBlock(
        dim=dim,
        heads=heads,
        hidden=hidden,
        cross=False,
        pre_norm=False,
        dropout=dropouts.dropout,
        attention_dropout=dropouts.attention,
        activation_dropout=dropouts.activation,
        activation="gelu",
        eps=eps,
    )
    block.activation = ACTIVATIONS[activation]
    return block


def check_heads(config: Config, setting: str, heads: int, width_setting: str, dim: int) -> None:
    """Raises :class:`UserError` unless a configuration's heads share its width evenly."""
    if dim % heads:
        raise UserError(f"{config.path}: {setting} {heads} does not divide {width_setting} {dim}")


def count_blocks(config: Config, weights: Weights, name: str, said: int, setting: str) -> None:
    """That there are as many blocks (``name.NUMBER.``) as the configuration says.

    Raises:
        UserError: more or fewer.
    """
    pattern = re.compile(re.escape(name) + r"\.(\d+)\.")
    found = {int(match[1]) for match in map(pattern.match, weights) if match}
    if len(found) != said or max(found) != said - 1:
        raise UserError(
            f"{weights.file}: has the blocks of {len(found)} layers ({name}), and {config.path} "
            f"says {setting} {said}"
        )


def is_copy(weights: Weights, name: str, table: str) -> bool:
    """Whether a tensor that may be missing holds the same as the table.

    Raises:
        UserError: it is of another shape.
    """
    if name not in weights:
        return True
    if weights.shape(name) != weights.shape(table):
        raise UserError(
            f"{weights.file}: {name} is {weights.shape(name)} and {table} {weights.shape(table)}; "
            "they should be of one shape"
        )
    return bool(weights.tensor(name).equal(weights.tensor(table)))

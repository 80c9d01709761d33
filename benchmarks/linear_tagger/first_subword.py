"""A linear layer on the first subword of each word: what a user would take beside EncT5.

Encoder, data, batches, optimizer and learning rates are those of EncT5; it has no decoder.

    bash examples/classification/train.sh WORK --user-dir benchmarks/linear_tagger \\
        --arch linear_tagger
    python benchmarks/linear_tagger --path CHECKPOINT --input TEXT --output PREDICTIONS

The second command is lev-predict for such a checkpoint.
"""

from typing import Any

from fairseq.models import register_model
from torch import Tensor, nn

from lev_plugins.systems.enct5 import EncT5Config, EncT5Model


class FirstSubword(nn.Module):
    """Takes the place of EncT5's decoder: the state of each word's first subword."""

    def forward(
        self, latents: Tensor, example_ids: Tensor, states: Tensor, cross_mask: Tensor
    ) -> Tensor:
        """Returns states, words × C; arguments as of EncT5's decoder."""
        first = cross_mask.int().argmax(2)
        index = first.unsqueeze(2).expand(-1, -1, states.size(2))
        return states.gather(1, index)[example_ids.ne(0)]


@register_model("linear_tagger", dataclass=EncT5Config)
class LinearTagger(EncT5Model):
    """A pre-trained encoder and one linear layer, for ``--kind tagging``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.decoder = FirstSubword()  # type: ignore[assignment]

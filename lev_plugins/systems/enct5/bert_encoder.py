"""A BERT's encoder in the place of T5's."""

from torch import Tensor, nn

from ...nn.cpu import dropout
from ...nn.packing import Layout, Packing
from ...nn.transformer import TransformerStack, attention_mask
from ...pretrained.filling import Dropouts
from ...pretrained.post_norm import PostNormPlan


class BertEncoder(nn.Module):
    """BERT's encoder behind the vectors of its tokens; a row may hold several texts.

    Called as :class:`.T5Encoder` is.
    """

    def __init__(self, plan: PostNormPlan, dropouts: Dropouts) -> None:
        super().__init__()
        self.dropout = dropouts.dropout
        self.places = nn.Embedding(plan.positions, plan.dim)
        self.norm = nn.LayerNorm(plan.dim, eps=plan.eps)
        self.stack = TransformerStack(0, False, plan.dim)
        self.stack.blocks.extend(plan.size(dropouts).block() for _ in range(plan.layers))
        plan.adapt([self])

    def forward(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """Vectors of tokens → states, B × S × C; what stands at padding is of no meaning.

        Args:
            x: B × S × C.
            real: B × S, bool, False at padding.
            mask: B × 1 × S × S, bool: who sees whom, where a row holds several texts; each
                position has to see itself. Places are counted afresh in each text, none of which
                may be longer than the plan's positions.
        """
        seen = attention_mask(real) if mask is None else mask
        mine = seen[:, 0].expand(-1, x.size(1), -1)
        # a token's place: how many before it it sees
        place = mine.tril(-1).sum(2).masked_fill(~real, 0)
        x = dropout(self.norm(x + self.places(place)), self.dropout, self.training)
        packing = Packing.maybe_pack(attention_mask(real))
        return self.stack(x, seen, layout=Layout(seen, packing))

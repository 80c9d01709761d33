"""What the models that write from left to right have in common: fairseq's side of them."""

import torch
from fairseq.data import Dictionary
from fairseq.dataclass.configs import FairseqConfig
from fairseq.models import FairseqEncoder, FairseqEncoderDecoderModel
from torch import Tensor

from ...errors import UserError
from ..cpu import Int8Linear
from ..decoding import TiedOutput
from ..embedding import TokenEmbedding
from ..precision import decoding_precision, quantize
from .decoder import DecoderOut, EncoderOut


class TransformerEncoder(FairseqEncoder):
    """Embeds the source; a subclass runs it through its blocks and leaves a memory.

    Its ``forward`` takes B × S tokens, padded on either side, and returns
    ``{"memory": [SourceMemory]}``.

    Args:
        dictionary: of the source.
        embed: of its tokens.
        limit: the longest source, in tokens.
    """

    def __init__(self, dictionary: Dictionary, embed: TokenEmbedding, limit: int) -> None:
        super().__init__(dictionary)
        self.pad, self.limit, self.embed = dictionary.pad(), limit, embed

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        """The output for the rows ``new_order``; what was projected stays projected."""
        return {"memory": [memory.select(new_order) for memory in encoder_out["memory"]]}

    def max_positions(self) -> int:
        """The longest source, in tokens."""
        return self.limit


class Seq2SeqModel(FairseqEncoderDecoderModel):
    """An encoder that leaves a memory, and a :class:`.decoder.TransformerDecoder`.

    Both have their token embeddings at ``embed``, a :class:`..embedding.TokenEmbedding`.
    """

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None,
        prev_output_tokens: Tensor,
        **options: object,
    ) -> DecoderOut:
        """Logits of the next token after every prefix of the target: B × T × V.

        Args:
            src_tokens: B × S, padded on either side.
            src_lengths: not needed.
            prev_output_tokens: B × T, </s> and the target without its last token.
            **options: the decoder's.
        """
        encoder_out = self.encoder(src_tokens, src_lengths)
        return self.decoder(prev_output_tokens, encoder_out=encoder_out, **options)

    def prepare_for_inference_(self, cfg: FairseqConfig) -> None:
        """Called by fairseq before it decodes.

        Raises:
            UserError: dropout is to be kept, which this model cannot.
        """
        if getattr(cfg.generation, "retain_dropout", False):
            raise UserError("--retain-dropout is not supported by this model; leave it out")
        super().prepare_for_inference_(cfg)
        quantize([self], decoding_precision(cfg))

    def int8_outputs(self) -> None:
        """The vocabulary's product in 8 bits too, where it is the plain one."""
        output = self.decoder.output
        if isinstance(output, TiedOutput) and output.scale == 1.0:
            self.decoder.output = Int8Linear(output.table.weight, output.bias)

    def _shared(self) -> list[list[str]]:
        """The names of each parameter that has several."""
        names: dict[int, list[str]] = {}
        for name, parameter in self.named_parameters(remove_duplicate=False):
            names.setdefault(id(parameter), []).append(name)
        return [group for group in names.values() if len(group) > 1]

    def state_dict(self, *args: object, prefix: str = "", **options: object) -> dict[str, Tensor]:
        """Every parameter once, under the first of its names.

        fairseq copies each entry to the CPU and to fp32: a checkpoint of a model trained on a GPU
        or in half precision would hold what is shared several times over.
        """
        state = super().state_dict(*args, prefix=prefix, **options)
        for _, *others in self._shared():
            for name in others:
                del state[prefix + name]
        return state

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Checks a checkpoint's embeddings, and gives shared parameters all their names.

        Raises:
            UserError: the embeddings do not fit the dictionaries, or the checkpoint has two
                values for what is shared here.
        """
        for side in ("encoder", "decoder"):
            saved = state_dict.get(f"{side}.embed.table.weight")
            here = getattr(self, side).embed.table.weight
            if saved is not None and saved.size(0) != here.size(0):
                raise UserError(
                    f"the checkpoint has {saved.size(0)} symbols in the {side}, the dictionary "
                    f"{here.size(0)}; give the data folder that it was trained with"
                )
        # before shared parameters get their names; blocks rename their own only afterwards
        for old, new in ((".expand.", ".fc1."), (".contract.", ".fc2.")):
            for key in [key for key in state_dict if old in key and "blocks." in key]:
                state_dict[key.replace(old, new)] = state_dict.pop(key)
        for names in self._shared():
            first, *others = [one for one in names if one in state_dict] or names
            for one in others:
                if one in state_dict and not torch.equal(state_dict[first], state_dict[one]):
                    raise UserError(
                        f"the checkpoint has different parameters {first} and {one}, which this "
                        "model shares; give the options of sharing that it was trained with "
                        "(--no-parameter-sharing, or without --share-all-embeddings)"
                    )
            if first in state_dict:
                state_dict.update(dict.fromkeys(names, state_dict[first]))
        super().upgrade_state_dict_named(state_dict, name)

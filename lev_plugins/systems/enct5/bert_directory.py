"""A pre-trained BERT in the place of T5's encoder: its subwords, positions and blocks."""

import json

from torch import nn

from ...errors import UserError
from ...pretrained.bert import LEFT, BertEncoder, BertPlan, fill_encoder, rename
from ...pretrained.bpe import HfWordpiece, PretrainedTokenizerConfig
from ...pretrained.filling import Filling
from ...pretrained.loading import describe_backbone, read_description
from ...pretrained.vocabulary import BOS, Vocabulary, read_vocabulary
from .directory import EncoderDirectory
from .network import LatentDecoder
from .tokenizer import SPECIAL, SubwordDictionary


class BertDirectory(EncoderDirectory):
    """A local Hugging Face folder of a BERT."""

    OPTION, TYPES = "--bert-dir", ("bert",)

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.description = describe_backbone(path)
        self.plan = bert_plan(self.description)

    def sizes(self) -> dict[str, int | float | str]:
        """Its sizes; those of T5's blocks are for the decoder, as wide as the BERT."""
        plan = self.plan
        return {
            "encoder_layers": plan.layers,
            "encoder_embed_dim": plan.dim,
            "encoder_ffn_embed_dim": plan.hidden,
            "encoder_attention_heads": plan.heads,
            "attention_head_dim": plan.dim // plan.heads,
            "bert_plan": self.description,
        }

    def pieces(self) -> list[str]:
        """The vocabulary: T5's three special symbols, ``<s>`` for [CLS], then all others."""
        return ordered_pieces(read_vocabulary(self.place))

    def tokenizer(self) -> str:
        """What cuts text, for a :class:`.WordpieceTokenizer`: one line of JSON.

        Raises:
            UserError: it is no WordPiece, or cannot be read.
        """
        found = HfWordpiece(PretrainedTokenizerConfig(hf_directory=str(self.place.path)))
        vocabulary = found.vocabulary
        order = ordered_pieces(vocabulary)
        rows = [vocabulary.rows[vocabulary.tokens[symbol]] for symbol in order]
        return json.dumps({"rows": rows, "tokenizer": json.loads(found.tokenizer.to_str())})

    def fill(
        self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None = None
    ) -> None:
        """Puts the weights in; no BERT has blocks for the decoder."""
        assert isinstance(encoder, BertEncoder) and decoder is None
        filling = Filling(self.place.weights().renamed(rename), (*LEFT, r"cls\..*"))
        rows = read_vocabulary(self.place).rows_of(SubwordDictionary(self.pieces()))
        fill_encoder(table, encoder, filling, rows)
        filling.finish(nn.ModuleList([table, encoder]))


def ordered_pieces(vocabulary: Vocabulary) -> list[str]:
    """A BERT's symbols in the order of EncT5's dictionaries."""
    return [*SPECIAL, BOS, *vocabulary.ordinary()]


def bert_plan(description: str) -> BertPlan:
    """The numbers of a BERT from what a checkpoint keeps of it.

    Raises:
        UserError: it describes something else.
    """
    try:
        plan = read_description(description)[1]
    except UserError as error:
        raise UserError(f"--bert-plan: {error}") from error
    if not isinstance(plan, BertPlan):
        raise UserError(f"--bert-plan: not the description of a BERT: {description[:80]!r}")
    return plan

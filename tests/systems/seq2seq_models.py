"""Small models that write from left to right, sentences for them, and what they answer.

A sentence is a source and a target, strings of letters; both end in </s>, which is not written.
What all of these systems have to keep to stands in ``contract.py`` and ``test_seq2seq.py``.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import tiny
import torch
from contract import Answers, Hypotheses, System
from fairseq.data import Dictionary
from fairseq.sequence_generator import SequenceGenerator
from tiny import Triple
from torch import Tensor, nn

from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_plugins.systems.transformer_concat import TransformerConcatConfig, TransformerConcatModel

SIZES = {
    **{name: size for name, size in tiny.SIZES.items() if name.startswith("encoder_")},
    **{"dropout": 0.0, "max_source_positions": 32, "max_target_positions": 32},
}
# sources shorter and longer than targets, as long, and empty
ROWS = [
    Triple("abcd", "abcdefgh", "abdgh"),
    Triple("hgfedcba", "hag", "hg"),
    Triple("cafe", "cafe", "cafebabe"),
    Triple("abcdefgh", "", "b"),
    Triple("", "dada", "gaga"),
    Triple("", "", ""),
]
#: where padding stands, and how many columns of it there are on both sides
LAYOUTS = [
    {"left": left, "left_target": left_target, "extra": extra}
    for left, left_target, extra in ((True, False, 2), (False, True, 2), (True, True, 0))
]


class Batch(NamedTuple):
    """Padded tokens: B × S, B × T, B × T."""

    source: Tensor
    before: Tensor
    target: Tensor


class Writer(System):
    """A system with some options, as the contract has it; its task is the :class:`Seq2Seq`."""

    def model(self, seed: int = 1) -> nn.Module:
        return self.in_form(self.build(seed))

    def decoded(self, model: nn.Module, rows: Sequence[Triple], **layout: Any) -> Hypotheses:
        return self.task.searched([model], rows, **layout)


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
    all that is tried. joins: the source is ``source </s> draft </s>``. exact: nothing is computed
    in less than double precision. left_target: targets may be padded on the left.
    """

    config: Callable[..., Any]
    model: Any
    symbols: Dictionary
    rows: Sequence[Triple]
    kinds: dict[str, dict[str, Any]]
    joins: bool = False
    exact: bool = True
    left_target: bool = True

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
        with torch.device("cpu"):  # the same parameters on every device
            model = self.model.build_model(cfg, task(source or self.symbols, target))
        return model.to(torch.get_default_device())

    def build(self, seed: int = 1, factor: float = 2.0, **values: Any) -> Any:
        """A model in double precision, far from undecided."""
        model = self.new(seed, **values).cpu()
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):  # new ones are zero: nothing would be seen of them
                nn.init.normal_(parameter, std=0.2)
            elif not parameter.any():  # gates that start nearly closed, whatever they look at
                nn.init.xavier_uniform_(parameter)
        model.to(torch.get_default_device())
        return tiny.sharpen(model, factor).double().eval()

    def under(self, **values: Any) -> Writer:
        """These options under the contract."""
        layouts = [layout for layout in LAYOUTS if self.left_target or not layout["left_target"]]
        build = partial(self.build, **values)
        return Writer(self, build, self.sample, self.probabilities, self.exact, self.rows, layouts)

    # batches ----------------------------------------------------------------------------------

    def source(self, row: Triple) -> Tensor:
        """What the encoder reads of a sentence."""
        read = [tokens(row.source, self.symbols)]
        return torch.cat(read + [tokens(row.draft, self.symbols)] if self.joins else read)

    def batch(
        self,
        rows: Sequence[Triple],
        left: bool = False,
        left_target: bool = False,
        extra: int = 0,
    ) -> Batch:
        """``left``, ``left_target``: where the padding is; ``extra``: columns on both sides."""
        symbols, pad = self.symbols, self.symbols.pad()
        return Batch(
            tiny.stack([self.source(row) for row in rows], pad, left, extra),
            tiny.stack([shifted(row.target, symbols) for row in rows], pad, left_target, extra),
            tiny.stack([tokens(row.target, symbols) for row in rows], pad, left_target, extra),
        )

    def sample(
        self, rows: Sequence[Triple], ids: Sequence[int] | None = None, **layout: Any
    ) -> dict[str, Any]:
        """A batch as fairseq's task ``translation`` makes it."""
        sample, pad = self.batch(rows, **layout), self.symbols.pad()
        return {
            "id": torch.tensor(ids or list(range(len(rows)))),
            "nsentences": len(rows),
            "ntokens": int(sample.target.ne(pad).sum()),
            "net_input": {
                "src_tokens": sample.source,
                "src_lengths": sample.source.ne(pad).sum(1),
                "prev_output_tokens": sample.before,
            },
            "target": sample.target,
        }

    # what a model says ------------------------------------------------------------------------

    def probabilities(self, model: Any, sample: dict[str, Any]) -> Answers:
        """Logits and labels of a batch."""
        target = sample["target"]
        real = target.ne(self.symbols.pad())
        return {"token": (model(**sample["net_input"])[0][real], target[real])}

    def answers(
        self, model: Any, rows: Sequence[Triple], stepwise: bool = False, **layout: Any
    ) -> list[Tensor]:
        """For every sentence what is said at its own tokens: T × (V + G), logits and gates.

        ``stepwise``: written one token after the other with a state.
        """
        sample, pad = self.batch(rows, **layout), self.symbols.pad()
        encoder_out, width = model.encoder(sample.source), sample.before.size(1)
        state = {} if stepwise else None
        steps = []
        for end in range(1, width + 1) if stepwise else [width]:
            before = sample.before[:, :end]
            logits_, extra = model.decoder(before, encoder_out, incremental_state=state)
            assert logits_.shape[:2] == (len(rows), 1 if stepwise else width)
            steps.append(torch.cat([logits_, *([extra["gates"]] if "gates" in extra else [])], 2))
        real = sample.target.ne(pad)
        return [logits_[mask] for logits_, mask in zip(torch.cat(steps, 1), real, strict=True)]

    def logits(self, model: Any, rows: Sequence[Triple], **layout: Any) -> list[Tensor]:
        """Without the gates."""
        return [logits_[:, : len(self.symbols)] for logits_ in self.answers(model, rows, **layout)]

    def searched(
        self,
        models: Sequence[Any],
        rows: Sequence[Triple],
        left: bool = True,
        extra: int = 0,
        move: Callable[[Any], Any] = lambda sample: sample,
        **options: Any,
    ) -> Hypotheses:
        """Returns what beam search finds, four hypotheses a sentence; ``move``: to a device."""
        flags = {"beam_size": 4, "max_len_b": 14, **options}
        generator = SequenceGenerator(models, self.symbols, **flags)
        return generator.generate(models, move(self.sample(rows, left=left, extra=extra)))

    def same(self, first: Sequence[Tensor], second: Sequence[Tensor]) -> None:
        """Equal but for what the last digits of this system's precision are."""
        self.under().same(first, second)


# the systems ----------------------------------------------------------------------------------

PRE = {"encoder_normalize_before": True}
NORMS = {"post-norm": {}, "pre-norm": PRE}
PBD = Seq2Seq(
    PBDTransformerConfig,
    PBDTransformerModel,
    tiny.dictionary(),
    ROWS,
    # each option with either norm, once or twice
    {
        "as published, post-norm": {},
        "rotary positions, pre-norm": {"rotary_positions": True, **PRE},
        "no sharing, outputs copied, one table, pre-norm": {
            "no_parameter_sharing": True,
            "copied_states": "output",
            "share_all_embeddings": True,
            "encoder_learned_pos": True,
            "activation_fn": "gelu",
            **PRE,
        },
        "no segments, learned positions, outputs copied, post-norm": {
            "no_segment_embedding": True,
            "encoder_learned_pos": True,
            "copied_states": "output",
        },
        "no sharing, no future, deep decoder, post-norm": {
            "no_parameter_sharing": True,
            "no_future_modelling": True,
            "share_decoder_input_output_embed": True,
            "decoder_layers": 3,
            "rotary_positions": True,
        },
    },
)


def masked(letters: str = tiny.LETTERS, mask: str | None = "<mask>") -> Dictionary:
    """Letters, and behind them the mask symbol."""
    symbols = tiny.dictionary(letters)
    if mask is not None:
        symbols.add_symbol(mask)
    return symbols


VARIANTS = ("paper", "pointer")
ALL = "mask,copy,generate,skip"


def gated(variant: str, gates: str = ALL, **values: Any) -> dict[str, Any]:
    return {"gate_variant": variant, "gates": gates, **values}


GATED = Seq2Seq(
    lambda **values: GatedTransformerConfig(**{"decoder_layers": 2, **values}),
    GatedTransformerModel,
    masked(),
    ROWS,
    {
        "paper, post-norm": gated("paper"),
        "pointer, post-norm": gated("pointer"),
        "paper, mask,generate,skip, pre-norm": gated("paper", "mask,generate,skip", **PRE),
        "pointer, copy,generate, pre-norm": gated("pointer", "copy,generate", **PRE),
        "pointer, learned positions, one table": gated(
            "pointer", "mask,copy,generate", encoder_learned_pos=True, share_all_embeddings=True
        ),
        "paper, deep decoder": gated(
            "paper",
            "mask,copy,generate",
            decoder_layers=3,
            share_decoder_input_output_embed=True,
            activation_fn="gelu",
            **PRE,
        ),
    },
)

CONCAT = Seq2Seq(
    lambda **values: TransformerConcatConfig(**{"decoder_layers": 2, **values}),
    TransformerConcatModel,
    tiny.dictionary(),
    ROWS,
    {
        "sinusoids": {},
        "learned, pre-norm, shared": {
            "encoder_learned_pos": True,
            "decoder_learned_pos": True,
            "decoder_normalize_before": True,
            "share_all_embeddings": True,
            **PRE,
        },
        "normed embeddings, narrow decoder": {
            "layernorm_embedding": True,
            "no_scale_embedding": True,
            "decoder_embed_dim": 4,
            "decoder_ffn_embed_dim": 6,
            "decoder_attention_heads": 1,
            "share_decoder_input_output_embed": True,
        },
    },
    joins=True,
    exact=False,  # fairseq's attention takes its softmax in single precision
    left_target=False,  # fairseq's decoder is not made for it
)

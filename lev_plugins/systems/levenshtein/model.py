"""The model: an encoder, a decoder that sees whole sequences, and three heads (paper, §3.1).

Shapes: B sentences, T tokens of the sequence being edited, S source tokens, C channels,
P places that a head decides about.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import torch
from fairseq.data import Dictionary
from fairseq.dataclass.configs import FairseqConfig
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_runtime.errors import UserError, flag
from lev_runtime.refine.policy import HEADS, EditState, FeaturePolicy, Trace

from ...fairseq_patches.hooks import TrainingHooks
from ...nn.arrays import TORCH as TORCH_ARRAYS
from ...nn.backends import FollowsDevice, optimize
from ...nn.embedding import Positions, token_table
from ...nn.kernels import TORCH, Kernels
from ...nn.packing import AttentionLayout
from ...nn.precision import decoding_precision, prepare_for_decoding
from ...nn.rotary import rotary_angles
from ...nn.seq2seq.config import (
    CHARACTERS,
    SMALL,
    block_size,
    check_resumed,
    check_shared,
    rotary_width,
    set_both_sides,
)
from ...nn.seq2seq.embedding_files import load_embeddings
from ...nn.transformer import EncoderOutput, TransformerBlock, TransformerStack
from ...ops.edits import has_gaps, true_places
from .config import LevenshteinEditorConfig, exit_depths, stack_of
from .expert import (
    States,
    deletion_labels,
    deletion_state,
    glanced,
    insertion_inputs,
    placeholder_labels,
    token_labels,
    token_places,
)
from .heads import DeletedTokens, DeletionHead, PlaceholderHead, SourcePointer
from .stock import COPY, adopt, check_symbols

MODEL = "levenshtein_editor"
Logits = dict[str, tuple[Tensor, Tensor]]


@dataclass
class EditEncoderOutput(EncoderOutput):
    """The encoder's output with the source tokens, B × S, for the pointer."""

    source: Tensor | None = None


@register_model(MODEL, dataclass=LevenshteinEditorConfig)
class LevenshteinEditorModel(FollowsDevice, BaseFairseqModel, FeaturePolicy, TrainingHooks):
    """Levenshtein Transformer: policies for deletion, placeholders and tokens, over one source.

    Attributes:
        exits: of each head, the stack of decoder blocks before it, and how many of them.
    """

    kernels: Kernels = TORCH
    arrays = TORCH_ARRAYS
    check_resumed = staticmethod(check_resumed)

    def __init__(
        self,
        cfg: LevenshteinEditorConfig,
        source_dictionary: Dictionary,
        target_dictionary: Dictionary,
        plh: int,
    ) -> None:
        super().__init__()
        self.cfg = cfg
        self.pad = target_dictionary.pad()
        self.unk, self.plh = target_dictionary.unk(), plh
        ends = target_dictionary.bos(), target_dictionary.eos()
        self.forbidden_symbols = sorted({self.pad, *ends, plh})
        dim = cfg.encoder_embed_dim
        self.scale = dim**0.5
        self.encoder_embed = self.decoder_embed = token_table(len(source_dictionary), dim, self.pad)
        if not cfg.share_all_embeddings:
            self.decoder_embed = token_table(len(target_dictionary), dim, self.pad)
        longest, tokens = self.max_positions()
        self.encoder_positions = Positions(longest, dim, self.pad, cfg.encoder_learned_pos)
        # a trace holds deleted tokens and those that replace them
        tokens *= 2 if cfg.deletion_trace else 1
        self.decoder_positions = Positions(tokens, dim, self.pad, cfg.decoder_learned_pos)
        self.rotary = [rotary_width(cfg, side) for side in ("encoder", "decoder")]
        self.encoder = _blocks(cfg, "encoder", cfg.encoder_layers)
        self.encoder_norm = nn.LayerNorm(dim) if cfg.encoder_normalize_before else None
        self.exits = {
            head: (stack_of(head, str(cfg.weight_sharing)), depth)
            for head, depth in exit_depths(cfg).items()
        }
        deepest = dict.fromkeys(HEADS, 0)
        for stack, depth in self.exits.values():
            deepest[stack] = max(depth, deepest[stack])
        self.decoder = nn.ModuleDict(
            {stack: _blocks(cfg, "decoder", depth) for stack, depth in deepest.items() if depth}
        )
        self.decoder_norm = nn.LayerNorm(dim) if cfg.decoder_normalize_before else None
        # in this order: the optimizers of checkpoints know parameters by their number
        self.deletion_head = DeletionHead(2, dim)
        self.placeholder_head = PlaceholderHead(cfg.max_insertions, dim)
        self.pointer = SourcePointer(dim) if cfg.source_pointer else None
        self.traces = cfg.deletion_trace
        self.deleted = DeletedTokens(dim, cfg.max_insertions + 1) if self.traces else None
        self.token_head = (
            token_table(len(target_dictionary), dim) if cfg.separate_output_embed else None
        )
        # a buffer: parameters that were trained without copying are read without it
        self.copies_source = str(cfg.source_copy) == "uniform"
        self.register_buffer(COPY, torch.full((1,), float(self.copies_source)))
        if cfg.apply_bert_init:
            heads = [self.deletion_head, self.placeholder_head]
            _bert_init([self.decoder, *heads, self.decoder_embed])
            nn.init.zeros_(self.decoder_embed.weight[self.pad])

    @classmethod
    def build_model(
        cls, cfg: LevenshteinEditorConfig, task: FairseqTask
    ) -> "LevenshteinEditorModel":
        """Refuses options that contradict each other or the task's dictionaries."""
        if not hasattr(task, "placeholder"):
            raise UserError(f"--arch {MODEL} needs --task translation_edit")
        source, target = task.source_dictionary, task.target_dictionary
        width, decoder_width = cfg.encoder_embed_dim, cfg.decoder_embed_dim
        if width != decoder_width:
            raise UserError(
                f"--encoder-embed-dim {width} and --decoder-embed-dim {decoder_width} differ"
            )
        check_shared(cfg, source, target)
        if cfg.source_pointer and not cfg.share_all_embeddings:
            raise UserError("--source-pointer needs --share-all-embeddings: one dictionary")
        for name in ("share_all_embeddings", "share_decoder_input_output_embed"):
            if getattr(cfg, name) and cfg.separate_output_embed:
                raise UserError(f"{flag(name)} and --separate-output-embed exclude each other")
        model = cls(cfg, source, target, task.placeholder)
        load_embeddings(cfg, (source, model.encoder_embed), (target, model.decoder_embed))
        return optimize(model)

    def max_positions(self) -> tuple[int, int]:
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    # passes -----------------------------------------------------------------------------------

    def encode(self, src_tokens: Tensor) -> EditEncoderOutput:
        """Runs the encoder: B × S tokens."""
        layout = self._layout(src_tokens, self.rotary[0])
        x = self.scale * self.encoder_embed(src_tokens)
        x = x + self.encoder_positions(src_tokens)
        x = self.kernels.dropout(x, self.cfg.dropout, self.training)
        x = self.encoder(x, layout)
        x = x if self.encoder_norm is None else self.encoder_norm(x)
        return EditEncoderOutput(x, layout.mask, source=src_tokens)

    def decode(
        self, tokens: Tensor, encoder_out: EncoderOutput, head: str, deleted: Tensor | None = None
    ) -> Tensor:
        """Runs the decoder to the exit of ``head``: B × T → B × T × C.

        deleted: B × T, bool, tokens that have just been deleted; None for none.
        """
        x = self.scale * self.decoder_embed(tokens)
        x = x + self.decoder_positions(tokens)
        if deleted is not None and self.deleted is not None:
            x = x + deleted.unsqueeze(2) * (self.scale * self.deleted.mark.weight[0])
        if self.copies_source and head == "token":
            x = x + source_at_placeholders(tokens, encoder_out, self.pad, self.plh)
        x = self.kernels.dropout(x, self.cfg.dropout, self.training)
        layout = self._layout(tokens, self.rotary[1])
        if not self.training and layout.packing is not None and has_gaps(tokens.ne(self.pad)):
            layout = layout._replace(packing=None)  # features at padding are read
        stack, depth = self.exits[head]
        x = self.decoder[stack](x, layout, encoder_out, depth)
        return x if self.decoder_norm is None else self.decoder_norm(x)

    def _layout(self, tokens: Tensor, rotary: int | None) -> AttentionLayout:
        real = tokens.ne(self.pad)
        return self.kernels.layout(real)._replace(rotary_angles=rotary_angles(real, rotary))

    # heads ------------------------------------------------------------------------------------

    def slot_logits(
        self, features: Tensor, trace: Trace, slots: int | None, deleted: int | None
    ) -> Tensor:
        """Returns the placeholder head's logits for the slots between the tokens left: P × (K + 1).

        slots, deleted: how many there are; None: not counted yet.
        """
        left, right = slot_ends(trace.standing(self.pad), slots)
        rows = features.flatten(0, 1)
        logits = self.placeholder_head(rows.index_select(0, left), rows.index_select(0, right))
        if self.deleted is None:
            return logits
        places = true_places(trace.deleted, deleted)
        return logits + self.deleted(rows, places, torch.searchsorted(left, places) - 1, len(left))

    def token_logits(
        self, features: Tensor, places: Tensor, encoder_out: EditEncoderOutput
    ) -> Tensor:
        """Returns the token head's logits at ``places``, P, in B × T flattened: P × V."""
        rows = features.flatten(0, 1).index_select(0, places)
        logits = self.kernels.linear(rows, self.output_weight())
        if self.pointer is None:
            return logits
        keys = self.pointer.key(encoder_out.states)
        return self.pointer(logits, features, places, keys, encoder_out.source, encoder_out.mask)

    def output_weight(self) -> Tensor:
        """Returns the output embeddings of the token head: V × C."""
        return (self.decoder_embed if self.token_head is None else self.token_head).weight

    # decoding ---------------------------------------------------------------------------------

    def features(self, head: str, state: EditState) -> dict[tuple[str, int], Tensor]:
        """See the base class: B × T × C."""
        tokens, deleted = state.inputs()
        return {self.exits[head]: self.decode(tokens, state.encoder_out, head, deleted)}

    @property
    def least_spared(self) -> int:  # type: ignore[override]
        """Returns the tokens that gathering has to spare; measured on an H100."""
        return 512 if self.kernels.prefers_large_passes else 1

    def head_logits(self, head: str, features: Tensor, state: EditState) -> Tensor:
        """Returns a head's logits (Eq. 3 to 5); see the base class."""
        if head == "deletion":
            return self.deletion_head(features)
        trace = state.trace
        if head == "token":
            assert state.where is not None, "of all tokens there would be too many"
            places = true_places(state.where) if state.places is None else state.places
            if trace is not None:
                places = true_places(trace.spread(state.where, self.pad), len(places))
            return self.token_logits(features, places, state.encoder_out)
        if trace is None:
            return self.placeholder_head(features[:, :-1], features[:, 1:])
        logits = self.slot_logits(features, trace, state.counts.slots, state.counts.deleted)
        slots = state.tokens[:, 1:].ne(self.pad)
        dense = logits.new_zeros(slots.numel(), logits.size(1))
        dense.index_copy_(0, true_places(slots, len(logits)), logits)
        return dense.unflatten(0, slots.shape)

    def prepare_for_inference_(self, cfg: FairseqConfig) -> None:
        super().prepare_for_inference_(cfg)
        prepare_for_decoding([self], decoding_precision(cfg))

    # training ---------------------------------------------------------------------------------

    def forward(self, src_tokens: Tensor, src_lengths: Tensor | None, states: States) -> Logits:
        """Computes what an update learns from (Algorithm 1).

        Returns:
            of each head its logits where the expert has labels, P × classes, and the labels, P.
        """
        encoder_out = self.encode(src_tokens)
        unglanced, first_logits = states, None
        if self.training and states.glancing:
            first_logits = self._unlearned_logits(states, encoder_out)
            states = glanced(states, first_logits)

        # insertion first, from y_ins to y*: its tokens are what deletion learns from
        inserting, filling = insertion_inputs(states, self.traces)
        features = self.decode_both(inserting, filling, encoder_out)
        sizes = states.sizes
        counts = self.slot_logits(features[0], inserting, sizes.slots, sizes.deleted)
        tokens = self.token_logits(features[1], token_places(states, filling), encoder_out)
        del features  # the gradients do not need them: deletion may use their memory

        # deletion: from the draft, or from what was just inserted
        y_del = deletion_state(
            unglanced, tokens if first_logits is None else first_logits, self.forbidden_symbols
        )
        places, deletions = deletion_labels(y_del, states)
        rows = self.decode(y_del, encoder_out, "deletion").flatten(0, 1)
        return {
            "deletion": (self.deletion_head(rows.index_select(0, places)), deletions),
            "placeholder": (counts, placeholder_labels(states, self.cfg.max_insertions)),
            "token": (tokens, token_labels(states)),
        }

    @torch.no_grad()
    def _unlearned_logits(self, states: States, encoder_out: EditEncoderOutput) -> Tensor:
        """Runs the token head once without gradients, to choose which targets glancing reveals."""
        source = replace(encoder_out, cache={})
        _, filling = insertion_inputs(states, self.traces)
        features = self.decode(filling.tokens, source, "token", filling.deleted)
        return self.token_logits(features, token_places(states, filling), source)

    def decode_both(
        self, inserting: Trace, filling: Trace, encoder_out: EditEncoderOutput
    ) -> list[Tensor]:
        """Returns the features of y_ins for the placeholder head, and of y'_ins for the token head.

        On an accelerator in one pass where both have the same exit: fewer and larger kernels.
        """
        is_one = self.exits["placeholder"] == self.exits["token"]
        if not (is_one and self.kernels.prefers_large_passes):
            return [
                self.decode(inserting.tokens, encoder_out, "placeholder", inserting.deleted),
                self.decode(filling.tokens, encoder_out, "token", filling.deleted),
            ]
        width = max(inserting.tokens.size(1), filling.tokens.size(1))
        first = inserting.widened(width, self.pad)
        second = filling.widened(width, self.pad)
        # both of a sentence next to each other, as they read the same source
        tokens = torch.stack([first.tokens, second.tokens], 1).flatten(0, 1)
        deleted = torch.stack([first.deleted, second.deleted], 1).flatten(0, 1)
        both = self.decode(tokens, encoder_out, "token", deleted)
        counting, writing = both.unflatten(0, (-1, 2)).unbind(1)
        return [counting[:, : inserting.tokens.size(1)], writing[:, : filling.tokens.size(1)]]

    # checkpoints --------------------------------------------------------------------------------

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Takes fairseq's own parameters too; refuses embeddings for other dictionaries."""
        own = self.state_dict()
        adopt(state_dict, own, self.unk)
        for name, value in own.items():  # a model trained without them learns to use them
            if name.startswith(("deleted.", "pointer.")):
                state_dict.setdefault(name, value)
        # parameters of fairseq's model have learned without it
        self.copies_source = bool(state_dict.setdefault(COPY, torch.zeros(1)).any())
        check_symbols(state_dict, own)


def source_at_placeholders(
    tokens: Tensor, encoder_out: EncoderOutput, pad: int, placeholder: int
) -> Tensor:
    """Returns the encoder's states at the placeholders' relative places in the source, 0 elsewhere.

    B × T tokens → B × T × C; the first and the last are the source's (Gu et al., 2018, §3.1.2).
    Several rows may read one source, one after the other.
    """
    states = encoder_out.states
    mask = encoder_out.mask
    real = torch.ones_like(states[..., 0], dtype=torch.bool) if mask is None else mask.flatten(1)
    rows_per_source = len(tokens) // len(states)
    if rows_per_source > 1:
        real = real.repeat_interleave(rows_per_source, 0)
    first = real.int().argmax(1, keepdim=True)
    last = real.sum(1, keepdim=True) - 1
    end = tokens.ne(pad).sum(1, keepdim=True) - 1
    end = end.clamp(min=1)  # --stock-decoding may leave </s> alone, as fairseq does
    place = torch.arange(tokens.size(1), device=tokens.device)
    # in whole numbers: floats would round to another place on another device
    column = (2 * place * last + end).div(2 * end, rounding_mode="floor")
    column = first + torch.minimum(column, last)  # there is no place after </s>
    index = column.view(len(states), -1, 1).expand(-1, -1, states.size(2))
    copied = states.gather(1, index).view(*tokens.shape, -1)
    is_placeholder = tokens.eq(placeholder)
    return copied * is_placeholder.unsqueeze(2)


def slot_ends(standing: Tensor, slots: int | None = None) -> tuple[Tensor, Tensor]:
    """Returns the places of the tokens left and right of every slot, P each, in B × T flattened.

    standing: B × T, bool. slots: P, where it is known.
    """
    number = standing.cumsum(1)
    is_first = number.eq(1)
    is_last = number.eq(number[:, -1:])
    left = true_places(standing & ~is_last, slots)
    right = true_places(standing & ~is_first, slots)
    return left, right


def _blocks(cfg: LevenshteinEditorConfig, side: str, depth: int) -> TransformerStack:
    """Makes ``depth`` blocks of a side, encoder or decoder."""
    blocks = [TransformerBlock(block_size(cfg, side), side == "decoder") for _ in range(depth)]
    # fairseq's LevT initialises these as nn.Linear does, and learns faster than with Xavier's
    for block in blocks:
        block.fc1.reset_parameters()
        block.fc2.reset_parameters()
    return TransformerStack(blocks)


def _bert_init(modules: Iterable[nn.Module]) -> None:
    """Draws weights from N(0, 0.02), sets biases to 0, leaves norms as they are."""
    for module in modules:
        for name, parameter in module.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)


_char = partial(set_both_sides, **CHARACTERS, max_insertions=31)  # as many as a long word has
register_model_architecture(MODEL, "levenshtein_editor_char")(_char)
register_model_architecture(MODEL, "levenshtein_editor_small")(partial(set_both_sides, **SMALL))

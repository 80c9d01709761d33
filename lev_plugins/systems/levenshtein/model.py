"""The model: an encoder, a decoder that sees whole sequences, and three policy heads (paper, §3.1).

Shapes: B sentences, T tokens of the sequence being edited, S source tokens, C channels,
V symbols, K = ``max_insertions``. Slot k lies between tokens k and k + 1.
"""

import logging
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from fairseq.data import Dictionary
from fairseq.dataclass.configs import FairseqConfig
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from ...errors import UserError
from ...nn.accelerator import is_accelerator
from ...nn.cpu import Int8Linear, dropout, linear
from ...nn.embedding import Positions, token_table
from ...nn.packing import Layout
from ...nn.precision import decoding_precision, quantize
from ...nn.rotary import turns
from ...nn.seq2seq.config import (
    CHARACTERS,
    SMALL,
    block_size,
    check_resumed,
    check_shared,
    rotary_width,
    set_both_sides,
)
from ...nn.transformer import Memory, TransformerBlock, TransformerStack
from ...ops.edits import true_places
from ...ops.transfer import to_device
from .config import HEADS, STACKS, LevenshteinEditorConfig, exit_depths
from .decoding.policy import EditPolicy, Facts
from .decoding.state import equal_rows, has_gaps
from .pointer import SourcePointer
from .replayed import ReplayedPasses
from .roll_in import RollIn, join_deletion_inputs, token_predictions
from .stock import COPY, complete, convert_parameters
from .trace import DeletedTokens, Trace, slot_ends

logger = logging.getLogger(__name__)
MODEL = "levenshtein_editor"
#: tokens that a pass on a device is spared where it is worth to choose the others
LEAST_SPARED = 512


@dataclass
class EditMemory(Memory):
    """What the encoder leaves for the policies.

    source: B × S, for a pointer. tokens, features: sequences, B × T, and what the heads for
    deletion and placeholders read of them, B × T × C, where that is the same. facts: of the tokens
    that logits are asked for.
    """

    source: Tensor | None = None
    tokens: Tensor | None = None
    features: Tensor | None = None
    facts: Facts = field(default_factory=Facts)


@register_model(MODEL, dataclass=LevenshteinEditorConfig)
class LevenshteinEditorModel(BaseFairseqModel, EditPolicy):
    """Levenshtein Transformer: deletion, placeholder and token policies over one source."""

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
        self.bos, self.eos = target_dictionary.bos(), target_dictionary.eos()
        self.unk, self.plh = target_dictionary.unk(), plh
        self.never = sorted({self.pad, self.bos, self.eos, plh})  # is written
        dim = cfg.encoder_embed_dim
        self.scale = dim**0.5
        self.encoder_embed = self.decoder_embed = token_table(len(source_dictionary), dim, self.pad)
        if not cfg.share_all_embeddings:
            self.decoder_embed = token_table(len(target_dictionary), dim, self.pad)
        longest = cfg.max_source_positions, cfg.max_target_positions
        self.encoder_positions = Positions(longest[0], dim, self.pad, cfg.encoder_learned_pos)
        # with a trace a draft stands beside what takes its place
        tokens = longest[1] * (2 if cfg.deletion_trace else 1)
        self.decoder_positions = Positions(tokens, dim, self.pad, cfg.decoder_learned_pos)
        self.rotary = [rotary_width(cfg, side) for side in ("encoder", "decoder")]
        self.encoder = _stack(cfg, "encoder", cfg.encoder_layers)
        self.encoder_norm = nn.LayerNorm(dim) if cfg.encoder_normalize_before else None
        self._build_decoder(cfg, dim, len(target_dictionary))
        # kept with the parameters: those of a model that has learned without it are read without it
        self.copies_source = str(cfg.source_copy) == "uniform"
        self.register_buffer(COPY, torch.full((1,), float(self.copies_source)))
        if cfg.apply_bert_init:
            self._bert_init()

    def _build_decoder(self, cfg: LevenshteinEditorConfig, dim: int, vocabulary: int) -> None:
        self.depths = dict(zip(HEADS, exit_depths(cfg)))
        self.stack_of = dict(zip(HEADS, STACKS[str(cfg.weight_sharing)]))
        # each as deep as the deepest head that runs through it
        depth = {
            stack: max(self.depths[head] for head in HEADS if self.stack_of[head] == stack)
            for stack in HEADS
            if stack in self.stack_of.values()
        }
        self.decoder = nn.ModuleDict({one: _stack(cfg, "decoder", depth[one]) for one in depth})
        # whether the first two heads read the same features
        self.same_exit = len({(self.stack_of[head], self.depths[head]) for head in HEADS[:2]}) == 1
        self.decoder_norm = nn.LayerNorm(dim) if cfg.decoder_normalize_before else None
        self.deletion_head = token_table(2, dim)
        self.placeholder_head = token_table(cfg.max_insertions + 1, 2 * dim)
        # undecided at first: errors of heads that know nothing would only stir up the blocks
        for head in (self.deletion_head, self.placeholder_head):
            nn.init.zeros_(head.weight)
        self.pointer = SourcePointer(dim) if cfg.source_pointer else None
        self.traces = cfg.deletion_trace
        self.deleted = DeletedTokens(dim, cfg.max_insertions + 1) if self.traces else None
        self.token_head = token_table(vocabulary, dim) if cfg.separate_output_embed else None
        self.int8_head: nn.Module | None = None
        self.passes: ReplayedPasses | None = None

    def _bert_init(self) -> None:
        for module in (self.decoder, self.deletion_head, self.placeholder_head, self.decoder_embed):
            for name, parameter in module.named_parameters():
                if parameter.dim() > 1:
                    nn.init.normal_(parameter, std=0.02)
                elif name.endswith("bias"):
                    nn.init.zeros_(parameter)
        nn.init.zeros_(self.decoder_embed.weight[self.pad])

    @classmethod
    def build_model(
        cls, cfg: LevenshteinEditorConfig, task: FairseqTask
    ) -> "LevenshteinEditorModel":
        """Refuses options that contradict each other or the task's dictionaries."""
        if not hasattr(task, "placeholder"):
            raise UserError(f"--arch {MODEL} goes with --task translation_edit")
        source, target = task.source_dictionary, task.target_dictionary
        one, other = cfg.encoder_embed_dim, cfg.decoder_embed_dim
        if one != other:
            raise UserError(f"--encoder-embed-dim {one} and --decoder-embed-dim {other} differ")
        check_shared(cfg, source, target)
        if cfg.source_pointer and not cfg.share_all_embeddings:
            raise UserError("--source-pointer needs --share-all-embeddings: one dictionary")
        if cfg.share_all_embeddings and cfg.separate_output_embed:
            raise UserError("--share-all-embeddings and --separate-output-embed exclude each other")
        return cls(cfg, source, target, task.placeholder)

    def max_positions(self) -> tuple[int, int]:
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    # what the generator asks for -------------------------------------------------------------

    def encode(self, src_tokens: Tensor) -> EditMemory:
        """B × S tokens → what every decoder pass reads."""
        source = None if self.pointer is None else src_tokens
        if self.passes is not None and self.passes.serve(src_tokens, self.encoder_positions):
            mask = src_tokens.ne(self.pad)[:, None, None]
            return EditMemory(self.passes.encode(self, src_tokens), mask, source=source)
        layout = self._layout(src_tokens, self.rotary[0])
        return EditMemory(self.encoded(src_tokens, layout), layout.mask, source=source)

    def encoded(self, src_tokens: Tensor, layout: Layout | None = None) -> Tensor:
        """One encoder pass, B × S → B × S × C; ``layout``: of the tokens, if known."""
        layout = layout or self._layout(src_tokens, self.rotary[0])
        x = self.scale * self.encoder_embed(src_tokens) + self.encoder_positions(src_tokens)
        x = dropout(x, self.cfg.dropout, self.training)
        x = self.encoder(x, layout)
        return x if self.encoder_norm is None else self.encoder_norm(x)

    def with_features(self, tokens: Tensor, memory: EditMemory) -> EditMemory:
        """The memory with the features of B × T tokens, if two heads can share them.

        With it no pass is made for :meth:`deletion_logits` of these tokens, nor for
        :meth:`placeholder_logits` of sentences that nothing is deleted from.
        """
        if self.same_exit:
            features = self.features(tokens, memory, "deletion")
            memory = replace(memory, tokens=tokens, features=features)
        return memory

    def with_facts(self, memory: EditMemory, facts: Facts) -> EditMemory:
        return replace(memory, facts=facts)

    def deletion_logits(self, tokens: Tensor, memory: EditMemory) -> Tensor:
        """Logits of keeping (0) and deleting (1) each token (Eq. 3): B × T × 2."""
        features = memory.features
        if features is None or memory.tokens is not tokens:
            features = self.features(tokens, memory, "deletion")
        return linear(features, self.deletion_head.weight)

    def placeholder_logits(
        self, tokens: Tensor, memory: EditMemory, trace: Trace | None = None
    ) -> Tensor:
        """Logits of the number of tokens missing in each slot (Eq. 4): B × (T − 1) × (K + 1)."""
        if trace is None or not self.traces:  # a mixed ensemble's
            features = self._known_features(tokens, memory)
            return self._slot_logits(features[:, :-1], features[:, 1:])
        features = self._known_features(trace.tokens, memory, trace.deleted)
        found = self._traced_slots(features, trace, memory.facts)
        slots = tokens[:, 1:].ne(self.pad)
        logits = found.new_zeros(slots.numel(), found.size(1))
        logits.index_copy_(0, true_places(slots, len(found)), found)
        return logits.unflatten(0, slots.shape)

    def token_logits(
        self, tokens: Tensor, memory: EditMemory, where: Tensor, trace: Trace | None = None
    ) -> Tensor:
        """Logits of the tokens at ``where`` (B × T, bool, P true; Eq. 5): P × V."""
        places, deleted = memory.facts.places, None
        if trace is not None and self.traces:
            count = None if places is None else len(places)
            places = true_places(trace.spread(where, self.pad), count)
            tokens, deleted = trace
        elif places is None:
            places = true_places(where)
        return self._written(self.features(tokens, memory, "token", deleted), memory, places)

    def prepare_for_inference_(self, cfg: FairseqConfig) -> None:
        super().prepare_for_inference_(cfg)
        quantize([self], decoding_precision(cfg))

    def int8_outputs(self) -> None:
        """The vocabulary's product in 8 bits too."""
        self.int8_head = Int8Linear(self.output_weight())

    def replay_passes(self) -> None:
        """From now on passes of few tokens are CUDA graphs where a GPU decodes."""
        self.passes = ReplayedPasses(self)

    def output_weight(self) -> Tensor:
        """What features become logits of symbols by: V × C."""
        return (self.decoder_embed if self.token_head is None else self.token_head).weight

    # the passes -------------------------------------------------------------------------------

    def features(
        self, tokens: Tensor, memory: EditMemory, head: str, deleted: Tensor | None = None
    ) -> Tensor:
        """What a head reads, B × T → B × T × C; some tokens are ``deleted``."""
        if self.passes is not None and self.passes.serve(tokens, self.decoder_positions):
            return self.passes.features(self, tokens, memory, head, deleted)
        return self.decoded(tokens, memory, head, deleted)

    def decoded(
        self, tokens: Tensor, memory: Memory, head: str, deleted: Tensor | None = None
    ) -> Tensor:
        """One decoder pass, B × T → B × T × C, to the exit of ``head``; some are ``deleted``."""
        x = self.scale * self.decoder_embed(tokens) + self.decoder_positions(tokens)
        if deleted is not None and self.deleted is not None:
            x = x + deleted.unsqueeze(2) * (self.scale * self.deleted.mark.weight[0])
        if head == "token" and self.copies_source:
            x = x + source_at_placeholders(tokens, memory, self.pad, self.plh)
        x = dropout(x, self.cfg.dropout, self.training)
        layout = self._layout(tokens, self.rotary[1])
        if not self.training and layout.packing is not None and has_gaps(tokens.ne(self.pad)):
            layout = layout._replace(packing=None)  # what stands at padding is read
        x = self.decoder[self.stack_of[head]](x, layout, memory, self.depths[head])
        return x if self.decoder_norm is None else self.decoder_norm(x)

    def _layout(self, tokens: Tensor, rotary: int | None) -> Layout:
        real = tokens.ne(self.pad)
        return Layout.of(real)._replace(turns=turns(real, rotary))

    def _known_features(
        self, tokens: Tensor, memory: EditMemory, deleted: Tensor | None = None
    ) -> Tensor:
        """Features for the placeholder head, B × T × C; no pass is made for known sentences."""
        before, known, width = memory.tokens, memory.features, tokens.size(1)
        if before is None or known is None or before.size(1) < width:
            return self.features(tokens, memory, "placeholder", deleted)
        changed = memory.facts.changed
        if changed is None:
            differ = ~equal_rows(before, tokens, self.pad)
            differ = differ if deleted is None else differ | deleted.any(1)
            changed = tuple(differ.nonzero().squeeze(1).tolist())
        spared = (len(tokens) - len(changed)) * width
        # a device is sooner done with some more than the host with choosing
        least = 1 if tokens.device.type == "cpu" else LEAST_SPARED
        if changed and spared < least:
            return self.features(tokens, memory, "placeholder", deleted)
        if not changed:
            return known[:, :width]
        rows = to_device(changed, tokens.device)
        there = replace(memory, tokens=None, features=None, facts=Facts()).select(rows)
        deleted = None if deleted is None else deleted.index_select(0, rows)
        features = self.features(tokens.index_select(0, rows), there, "placeholder", deleted)
        return known[:, :width].index_copy(0, rows, features)

    def _slot_logits(self, left: Tensor, right: Tensor) -> Tensor:
        # concat(h_i, h_i+1) · Bᵀ without making the concatenation
        first, second = self.placeholder_head.weight.chunk(2, dim=1)
        return linear(left, first) + linear(right, second)

    def _traced_slots(self, features: Tensor, trace: Trace, facts: Facts) -> Tensor:
        """Logits of the slots between the tokens that stand, row by row: P × (K + 1)."""
        left, right = slot_ends(trace.standing(self.pad), facts.slots)
        features = features.flatten(0, 1)
        logits = self._slot_logits(*(features.index_select(0, one) for one in (left, right)))
        if self.deleted is None:
            return logits
        places = true_places(trace.deleted, facts.deleted)
        slot = torch.searchsorted(left, places) - 1
        return logits + self.deleted(features, places, slot, len(left))

    def _written(self, features: Tensor, memory: EditMemory, places: Tensor) -> Tensor:
        """Logits of the tokens at ``places`` (P) of B × T × C features laid flat: P × V."""
        rows = features.flatten(0, 1).index_select(0, places)
        head = self.int8_head
        logits = linear(rows, self.output_weight()) if head is None else head(rows)
        return logits if self.pointer is None else self.pointer(logits, features, places, memory)

    def _inserting(
        self, counting: Trace, writing: Trace, memory: EditMemory
    ) -> tuple[Tensor, Tensor]:
        """What the placeholder head and the token head read, B × T × C each.

        On an accelerator in one pass where both heads read the same exit: kernels twice as large,
        and half as many.
        """
        exits = {(self.stack_of[head], self.depths[head]) for head in HEADS[1:]}
        if len(exits) > 1 or not is_accelerator(counting.tokens):
            counted = self.features(counting.tokens, memory, "placeholder", counting.deleted)
            return counted, self.features(writing.tokens, memory, "token", writing.deleted)
        width = max(counting.tokens.size(1), writing.tokens.size(1))
        both = [trace.widened(width, self.pad) for trace in (counting, writing)]
        tokens, deleted = (torch.stack(pair, 1).flatten(0, 1) for pair in zip(*both))
        features = self.decoded(tokens, memory, "token", deleted).unflatten(0, (-1, 2))
        sides = zip(features.unbind(1), (counting, writing))
        counted, written = (side.narrow(1, 0, trace.tokens.size(1)) for side, trace in sides)
        return counted, written

    def forward(
        self, src_tokens: Tensor, src_lengths: Tensor | None, roll_in: RollIn
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Training passes of Algorithm 1.

        Returns:
            the logits of each head where there are labels, P × classes; and y_del, B × L, what the
            deletion head has read: it is made here, of what the token head writes.
        """
        memory, sizes = self.encode(src_tokens), roll_in.sizes
        counting, writing, where = roll_in.read(self.traces)
        deleted = sizes.deleted if self.traces else None
        facts = Facts(slots=sizes.slots, deleted=deleted)
        counted, written = self._inserting(counting, writing, memory)
        placeholder = self._traced_slots(counted, counting, facts)
        token = self._written(written, memory, true_places(where, sizes.written))
        with torch.no_grad():
            missing, written = roll_in.insertion.missing, token.detach()
            if roll_in.where is not missing:  # for deletion what was masked stands as it is
                places = true_places(roll_in.where, sizes.written)
                lacks = missing.flatten().index_select(0, places)
                written = written.index_select(0, true_places(lacks, sizes.missing))
            predicted = token_predictions(written, roll_in, self.never)
            inputs = join_deletion_inputs(roll_in, predicted)
        features = self.features(inputs, memory, "deletion").flatten(0, 1)
        features = features.index_select(0, roll_in.asked(inputs))
        deletion = linear(features, self.deletion_head.weight)
        return {"deletion": deletion, "placeholder": placeholder, "token": token}, inputs

    # checkpoints --------------------------------------------------------------------------------

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Takes fairseq's own parameters too; refuses embeddings for other dictionaries."""
        if {"decoder.embed_tokens.weight", "encoder.embed.table.weight"} & state_dict.keys():
            converted = convert_parameters(state_dict, self.unk)
            if "deletion_head.weight" not in converted:
                complete(converted, self.state_dict())
                logger.info("begins with a transformer's parameters; its heads for editing are new")
            state_dict.clear()
            state_dict.update(converted)
        for name, value in self.state_dict().items():  # a model without them learns to use them
            if name.startswith(("deleted.", "pointer.")):
                state_dict.setdefault(name, value)
        # parameters of fairseq's model have learned without it
        self.copies_source = bool(state_dict.setdefault(COPY, torch.zeros(1)).any())
        for table in ("encoder_embed", "decoder_embed"):
            here = getattr(self, table).weight
            saved = state_dict.get(f"{table}.weight", here)
            if len(saved) != len(here):
                raise UserError(
                    f"the checkpoint has {len(saved)} symbols in {table}, the dictionary "
                    f"{len(here)}; give the data folder that it was trained with"
                )


def source_at_placeholders(tokens: Tensor, memory: Memory, pad: int, placeholder: int) -> Tensor:
    """The encoder's states at the placeholders' relative places in the source, 0 elsewhere.

    B × T tokens → B × T × C; the first and the last are the source's (Gu et al., 2018, §3.1.2).
    Several rows may read one source, one after the other.
    """
    states, mask = memory.states, memory.mask
    real = torch.ones_like(states[..., 0], dtype=torch.bool) if mask is None else mask.flatten(1)
    if (several := len(tokens) // len(states)) > 1:
        real = real.repeat_interleave(several, 0)
    first, last = real.int().argmax(1, keepdim=True), real.sum(1, keepdim=True) - 1
    end = (tokens.ne(pad).sum(1, keepdim=True) - 1).clamp(min=1)  # stock's rules may leave </s>
    place = torch.arange(tokens.size(1), device=tokens.device)
    # rounded in whole numbers: the same on any device
    source = (2 * place * last + end).div(2 * end, rounding_mode="floor")
    source = first + torch.minimum(source, last)  # behind </s> there is no place
    source = source.view(len(states), -1, 1).expand(-1, -1, states.size(2))
    states = states.gather(1, source).view(*tokens.shape, -1)
    return states * tokens.eq(placeholder).unsqueeze(2)


def _stack(cfg: LevenshteinEditorConfig, side: str, blocks: int) -> TransformerStack:
    size, cross = block_size(cfg, side), side == "decoder"
    made = [TransformerBlock(size, cross) for _ in range(blocks)]
    for block in made:  # as in fairseq's LevT, which learns sooner than with Xavier's
        block.fc1.reset_parameters()
        block.fc2.reset_parameters()
    return TransformerStack(made)


_char = partial(set_both_sides, **CHARACTERS, max_insertions=31)  # as many as a long word has
register_model_architecture(MODEL, "levenshtein_editor_char")(_char)
register_model_architecture(MODEL, "levenshtein_editor_small")(partial(set_both_sides, **SMALL))

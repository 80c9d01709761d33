"""The model: an encoder, a decoder that sees whole sequences, and a head for each edit operation
(paper, §3.1; the heads are in :mod:`.operations`).

Shapes: B sentences, T tokens of the sequence being edited, S source tokens, C channels,
P places that a head decides about.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from fairseq.dataclass.configs import FairseqConfig
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_runtime.errors import UserError

from ...fairseq_patches.hooks import TrainingHooks
from ...nn.backends import FollowsDevice, optimize
from ...nn.embedding import Positions, token_table
from ...nn.kernels import TORCH, Kernels
from ...nn.packing import AttentionLayout
from ...nn.precision import decoding_precision, prepare_for_decoding
from ...nn.rotary import rotary_angles
from ...nn.seq2seq.config import (
    CHARACTERS,
    SMALL,
    check_resumed,
    check_shared,
    rotary_width,
    set_both_sides,
)
from ...nn.seq2seq.embedding_files import load_embeddings
from ...nn.transformer import EncoderOutput
from ...ops.edits import equal_rows, has_gaps, true_places
from ...ops.transfer import to_device
from .blocks import bert_init, blocks_of
from .config import LevenshteinEditorConfig, exit_depths, stack_of
from .decoding.policy import UNKNOWN, EditPolicy, Facts
from .expert import Expert
from .operations import EditOperation, View, edit_operations
from .pointer import SourcePointer
from .replayed import ReplayedPasses
from .source_copy import source_at_placeholders
from .stock import COPY, adopt, check_symbols
from .trace import DeletedTokens, Trace, wide_trace

MODEL = "levenshtein_editor"
#: tokens that a pass on a device is spared where it is worth to choose the others
LEAST_SPARED = 512
#: sentences that may be chosen for each that a pass is spared: their memory is copied
MOST_CHOSEN = 8
#: a stack of decoder blocks, and how many of them are run through
Exit = tuple[str, int]
#: the stacks of decoder blocks that LevT has, in the order of their parameters
STACKS = ("deletion", "placeholder", "token")


@dataclass
class EditEncoderOutput(EncoderOutput):
    """What the encoder leaves for the policies.

    source: B × S, for a pointer. known: what was read last through an exit: the sequences, B × T,
    their features, B × T × C, and the name of the operation that read them.
    """

    source: Tensor | None = None
    known: dict[Exit, tuple[Tensor, Tensor, str]] = field(default_factory=dict)

    def unread(self, rows: Tensor) -> Self:
        """The memory of the sentences at ``rows``, with nothing ``known``."""
        return replace(self, known={}).select(rows)


@register_model(MODEL, dataclass=LevenshteinEditorConfig)
class LevenshteinEditorModel(FollowsDevice, BaseFairseqModel, EditPolicy, TrainingHooks):
    """Levenshtein Transformer: a policy for each edit operation, over one source.

    Attributes:
        operations: what an iteration does, in order.
        exits: of each operation, by name, the stack of decoder blocks that it runs through, and
            how many of them.
    """

    kernels: Kernels = TORCH
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
        self.encoder = blocks_of(cfg, "encoder", cfg.encoder_layers)
        self.encoder_norm = nn.LayerNorm(dim) if cfg.encoder_normalize_before else None
        self._build_decoder(cfg, dim, len(target_dictionary))
        # kept with the parameters: those of a model that has learned without it are read without it
        self.copies_source = str(cfg.source_copy) == "uniform"
        self.register_buffer(COPY, torch.full((1,), float(self.copies_source)))
        if cfg.apply_bert_init:
            heads = [getattr(self, name) for name in self.deciding_heads]
            bert_init([self.decoder, *heads, self.decoder_embed])
            nn.init.zeros_(self.decoder_embed.weight[self.pad])

    def _build_decoder(self, cfg: LevenshteinEditorConfig, dim: int, vocabulary: int) -> None:
        self.operations = edit_operations(str(cfg.edit_operations), cfg.deletion_trace)
        sharing = str(cfg.weight_sharing)
        depths = exit_depths(cfg, self.operations)
        self.exits: dict[str, Exit] = {}
        deepest: dict[str, int] = dict.fromkeys(STACKS, 0)
        for operation in self.operations:
            stack, depth = stack_of(operation.blocks, sharing), depths[operation.name]
            self.exits[operation.name] = stack, depth
            deepest[stack] = max(depth, deepest.get(stack, 0))
        self.decoder = nn.ModuleDict(
            {stack: blocks_of(cfg, "decoder", depth) for stack, depth in deepest.items() if depth}
        )
        self.decoder_norm = nn.LayerNorm(dim) if cfg.decoder_normalize_before else None
        # the order of 0.6, by which the states of optimizers count parameters
        for name in ("deletion_head", "placeholder_head", "pointer", "deleted", "token_head"):
            self.register_module(name, None)
        *deciding, writing = self.operations
        self.deciding_heads = self._add_heads(deciding, cfg, vocabulary)
        self.pointer = SourcePointer(dim) if cfg.source_pointer else None
        self.traces = cfg.deletion_trace
        self.deleted = DeletedTokens(dim, cfg.max_insertions + 1) if self.traces else None
        self._add_heads([writing], cfg, vocabulary)
        self.passes: ReplayedPasses | None = None
        reused = {self.exits[later.name] for later in self.operations if later.reuses_features}
        #: the operations whose features stay ``known``: one of the same exit reads them again
        self.remembered = {
            operation.name
            for operation in self.operations
            if operation.stage != "write" and self.exits[operation.name] in reused
        }

    def _add_heads(
        self, operations: Sequence[EditOperation], cfg: LevenshteinEditorConfig, vocabulary: int
    ) -> list[str]:
        """Makes the operations' parameters; returns their names."""
        names = []
        for operation in operations:
            for name, head in operation.heads(cfg, vocabulary).items():
                self.add_module(name, head)
                names.append(name)
        return names

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
        if cfg.share_all_embeddings and cfg.separate_output_embed:
            raise UserError("--share-all-embeddings and --separate-output-embed exclude each other")
        model = cls(cfg, source, target, task.placeholder)
        load_embeddings(cfg, (source, model.encoder_embed), (target, model.decoder_embed))
        return optimize(model)

    def max_positions(self) -> tuple[int, int]:
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    # what the generator asks for -------------------------------------------------------------

    def encode(self, src_tokens: Tensor) -> EditEncoderOutput:
        """B × S tokens → what every decoder pass reads."""
        source = None if self.pointer is None else src_tokens
        if self.passes is not None and self.passes.serve(src_tokens, self.encoder_positions):
            mask: Tensor | None = src_tokens.ne(self.pad)[:, None, None]
            states = self.passes.encode(self, src_tokens)
        else:
            layout = self._layout(src_tokens, self.rotary[0])
            mask = layout.mask
            states = self.encoded(src_tokens, layout)
        return EditEncoderOutput(states, mask, source=source)

    def encoded(self, src_tokens: Tensor, layout: AttentionLayout | None = None) -> Tensor:
        """One encoder pass, B × S → B × S × C; ``layout``: of the tokens, if known."""
        layout = layout or self._layout(src_tokens, self.rotary[0])
        x = self.scale * self.encoder_embed(src_tokens)
        x = x + self.encoder_positions(src_tokens)
        x = self.kernels.dropout(x, self.cfg.dropout, self.training)
        x = self.encoder(x, layout)
        return x if self.encoder_norm is None else self.encoder_norm(x)

    def logits(
        self,
        operation: EditOperation,
        tokens: Tensor,
        memory: EditEncoderOutput,
        where: Tensor | None = None,
        trace: Trace | None = None,
        facts: Facts = UNKNOWN,
    ) -> Tensor:
        """What an operation's head says of B × T tokens (Eq. 3 to 5).

        No pass is made for sentences that an operation with the same exit has read, and that have
        not changed since, nor for those in which nothing is to be written.
        """
        writing = facts.writing
        if where is not None and writing is not None and self._are_few(writing, tokens):
            rows = to_device(writing, tokens.device)
            tokens, memory = tokens.index_select(0, rows), memory.unread(rows)
            where = where.index_select(0, rows)
            trace = None if trace is None else trace.select(rows)
            count = None if facts.places is None else len(facts.places)
            facts = Facts(places=true_places(where, count))
        view = self._view(operation, tokens, where, trace, facts)
        if operation.reuses_features:
            features = self._reuse_features(operation.name, view, memory, facts)
        else:
            features = self.features(view.tokens, memory, operation.name, view.deleted)
        if operation.name in self.remembered and view.deleted is None:
            memory.known[self.exits[operation.name]] = view.tokens, features, operation.name
        logits = operation.logits(self, features, view, memory)
        return operation.dense(logits, tokens, self.pad)

    def _view(
        self,
        operation: EditOperation,
        tokens: Tensor,
        where: Tensor | None,
        trace: Trace | None,
        facts: Facts,
    ) -> View:
        """What a head reads in decoding; a trace that it knows nothing of is an ensemble's."""
        places = facts.places
        if trace is None or not self.traces or not operation.reads_deleted:
            if where is not None and places is None:
                places = true_places(where)
            return View(tokens, places)
        if where is not None:
            count = None if places is None else len(places)
            places = true_places(trace.spread(where, self.pad), count)
        return View(trace.tokens, places, trace.deleted, facts.slots, facts.deleted)

    def prepare_for_inference_(self, cfg: FairseqConfig) -> None:
        super().prepare_for_inference_(cfg)
        prepare_for_decoding([self], decoding_precision(cfg))

    def replay_passes(self) -> None:
        """From now on passes of few tokens are CUDA graphs where a GPU decodes."""
        self.passes = ReplayedPasses(self)

    def output_weight(self) -> Tensor:
        """What features become logits of symbols by: V × C."""
        return (self.decoder_embed if self.token_head is None else self.token_head).weight

    # the passes -------------------------------------------------------------------------------

    def features(
        self, tokens: Tensor, memory: EditEncoderOutput, head: str, deleted: Tensor | None = None
    ) -> Tensor:
        """What a head reads, B × T → B × T × C; some tokens are ``deleted``."""
        if self.passes is not None and self.passes.serve(tokens, self.decoder_positions):
            return self.passes.features(self, tokens, memory, head, deleted)
        return self.decoded(tokens, memory, head, deleted)

    def decoded(
        self, tokens: Tensor, memory: EncoderOutput, head: str, deleted: Tensor | None = None
    ) -> Tensor:
        """One decoder pass, B × T → B × T × C, to the exit of ``head``; some are ``deleted``."""
        x = self.scale * self.decoder_embed(tokens)
        x = x + self.decoder_positions(tokens)
        if deleted is not None and self.deleted is not None:
            x = x + deleted.unsqueeze(2) * (self.scale * self.deleted.mark.weight[0])
        if self.copies_at(head):
            x = x + source_at_placeholders(tokens, memory, self.pad, self.plh)
        x = self.kernels.dropout(x, self.cfg.dropout, self.training)
        layout = self._layout(tokens, self.rotary[1])
        if not self.training and layout.packing is not None and has_gaps(tokens.ne(self.pad)):
            layout = layout._replace(packing=None)  # what stands at padding is read
        stack, depth = self.exits[head]
        x = self.decoder[stack](x, layout, memory, depth)
        return x if self.decoder_norm is None else self.decoder_norm(x)

    def copies_at(self, head: str) -> bool:
        """Whether what a head reads has the source's states beside its placeholders."""
        readers = {operation.name for operation in self.operations if operation.reads_placeholders}
        return self.copies_source and head in readers

    def _layout(self, tokens: Tensor, rotary: int | None) -> AttentionLayout:
        real = tokens.ne(self.pad)
        return self.kernels.layout(real)._replace(rotary_angles=rotary_angles(real, rotary))

    def _reuse_features(
        self, head: str, view: View, memory: EditEncoderOutput, facts: Facts
    ) -> Tensor:
        """Features for a head, B × T × C; no pass is made for sentences that are in the memory."""
        tokens, deleted = view.tokens, view.deleted
        if self.exits[head] not in memory.known:
            return self.features(tokens, memory, head, deleted)
        before, features, reader = memory.known[self.exits[head]]
        changed = self._changed_rows(view, before, reader, facts)
        if changed and not self._are_few(changed, tokens):
            return self.features(tokens, memory, head, deleted)
        known = F.pad(features, (0, 0, 0, tokens.size(1) - features.size(1)))
        if not changed:
            return known
        rows = to_device(changed, tokens.device)
        deleted = None if deleted is None else deleted.index_select(0, rows)
        tokens = tokens.index_select(0, rows)
        return known.index_copy_(0, rows, self.features(tokens, memory.unread(rows), head, deleted))

    def _are_few(self, rows: Sequence[int], tokens: Tensor) -> bool:
        """Whether it is worth to choose the sentences at ``rows`` of B × T tokens for a pass."""
        spared_rows = len(tokens) - len(rows)
        spared_tokens = spared_rows * tokens.size(1)
        # a device is sooner done with some more than the host with choosing
        least = LEAST_SPARED if self.kernels.prefers_large_passes else 1
        return spared_tokens >= least and len(rows) <= MOST_CHOSEN * spared_rows

    def _changed_rows(
        self, view: View, before: Tensor, reader: str, facts: Facts
    ) -> tuple[int, ...]:
        """The sentences of a view that are not as an operation, the ``reader``, has read them."""
        if facts.changed is not None:
            everyone = tuple(range(len(view.tokens)))  # it has read nothing in this iteration
            return facts.changed.get(reader, everyone)
        differ = ~equal_rows(before, view.tokens, self.pad)
        if view.deleted is not None:
            differ = differ | view.deleted.any(1)
        return tuple(differ.nonzero().squeeze(1).tolist())

    # training ---------------------------------------------------------------------------------

    def forward(
        self, src_tokens: Tensor, src_lengths: Tensor | None, expert: Expert
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """The passes of Algorithm 1.

        Returns:
            of each operation, by name, its logits where the expert has labels, P × classes, and
            the labels, P.
        """
        memory, answers = self.encode(src_tokens), {}
        expert.begin(self)
        if self.training and expert.glancing:
            self._glance(expert, memory)
        revising = [operation for operation in self.operations if operation.stage == "revise"]
        inserting = [operation for operation in self.operations if operation.stage != "revise"]
        for stage in (inserting, revising):  # to revise is learnt of what was just inserted
            lessons = [operation.lesson(expert) for operation in stage]
            views = [lesson.view for lesson in lessons]
            # no name for what was read: it is free once the loop is over
            for operation, lesson, features in zip(
                stage, lessons, self._read(stage, views, memory)
            ):
                logits = operation.logits(self, features, lesson.view, memory)
                answers[operation.name] = logits, lesson.labels
                if operation.stage == "write":
                    expert.note_token_logits(logits)
        return {operation.name: answers[operation.name] for operation in self.operations}

    def _glance(self, expert: Expert, memory: EditEncoderOutput) -> None:
        """The token head answers first, which nothing is learnt of."""
        source = EditEncoderOutput(memory.states.detach(), memory.mask, source=memory.source)
        with torch.no_grad():
            for operation in self.operations:
                if operation.stage == "write":
                    view, labels = operation.lesson(expert)
                    features = self.decoded(view.tokens, source, operation.name, view.deleted)
                    expert.glance(operation.logits(self, features, view, source), labels)

    def _read(
        self, operations: Sequence[EditOperation], views: Sequence[View], memory: EditEncoderOutput
    ) -> list[Tensor]:
        """What the heads of operations read of their views, B × T × C each.

        On an accelerator in one pass where all read the same exit: kernels are larger, and fewer.
        """
        heads = [operation.name for operation in operations]
        exits = {self.exits[head] for head in heads}
        if len(views) > 1 and len(exits) == 1 and self.kernels.prefers_large_passes:
            # at the last one's placeholders the source is read
            return self._read_together(heads[-1], views, memory)
        return [
            self.features(view.tokens, memory, head, view.deleted)
            for head, view in zip(heads, views, strict=True)
        ]

    def _read_together(
        self, head: str, views: Sequence[View], memory: EditEncoderOutput
    ) -> list[Tensor]:
        """What ``head`` reads of each view; a sentence's views lie side by side in the pass."""
        longest = max(view.tokens.size(1) for view in views)
        traces = [wide_trace(view.tokens, view.deleted, longest, self.pad) for view in views]
        tokens = torch.stack([trace.tokens for trace in traces], 1).flatten(0, 1)
        deleted = torch.stack([trace.deleted for trace in traces], 1).flatten(0, 1)
        features = self.decoded(tokens, memory, head, deleted)
        parts = features.unflatten(0, (-1, len(views))).unbind(1)
        return [part.narrow(1, 0, view.tokens.size(1)) for part, view in zip(parts, views)]

    # checkpoints --------------------------------------------------------------------------------

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Takes fairseq's own parameters too; refuses embeddings for other dictionaries."""
        own, heads = self.state_dict(), [f"{name}.weight" for name in self.deciding_heads]
        adopt(state_dict, own, self.unk, heads)
        for name, value in own.items():  # a model without them learns to use them
            if name.startswith(("deleted.", "pointer.")):
                state_dict.setdefault(name, value)
        # parameters of fairseq's model have learned without it
        self.copies_source = bool(state_dict.setdefault(COPY, torch.zeros(1)).any())
        check_symbols(state_dict, own)


_char = partial(set_both_sides, **CHARACTERS, max_insertions=31)  # as many as a long word has
register_model_architecture(MODEL, "levenshtein_editor_char")(_char)
register_model_architecture(MODEL, "levenshtein_editor_small")(partial(set_both_sides, **SMALL))

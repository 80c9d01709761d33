"""Replays a model's passes over padded shapes on a GPU (:mod:`.cuda_graphs`).

Only speed depends on it: a model answers the same without.

Shapes: B sentences, T tokens of the sequence being edited, S source tokens, C channels; each of B,
T and S is padded to one of a few sizes.
"""

import itertools
import threading
from functools import partial
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from lev_runtime.refine.policy import EditPolicy, EditState, FeaturePolicy

from ...nn.backends import cuda_graphs
from ...nn.backends.cuda_graphs import Replay, load, padded
from ...nn.embedding import Positions
from ...nn.transformer import Attention, EncoderOutput
from .model import EditEncoderOutput, LevenshteinEditorModel

#: lengths are padded to multiples of this
LENGTHS = 8
#: more padded tokens keep the device busy for longer than the host takes to start kernels
MOST_TOKENS = 4096
#: padded tokens of all shapes that are kept: each source has the keys and values of all blocks
MOST_KEPT = 2**17


class ReplayedPasses(FeaturePolicy):
    """A model that decodes by replayed passes; ``device``: the type of devices that they are for.

    They are those of the weights as they lie in memory: others drop all that was kept.
    """

    # asked of the model each time, so that what replaces them there is obeyed
    arrays = property(attrgetter("model.arrays"))
    traces = property(attrgetter("model.traces"))
    exits = property(attrgetter("model.exits"))
    least_spared = property(attrgetter("model.least_spared"))
    max_positions = property(attrgetter("model.max_positions"))
    head_logits = property(attrgetter("model.head_logits"))

    def __init__(self, model: LevenshteinEditorModel, device: str = "cuda") -> None:
        self.model = model
        self.device = device
        self.lock = threading.RLock()
        # their tables of parameters: where one is replaced, the table has the new one
        self.tables = [module._parameters for module in model.modules()]
        self._clear()

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """Copies nothing: a copied model has none until it is prepared for decoding."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()

    def _clear(self) -> None:
        self.addresses = self._addresses()
        self.sources: dict[Any, _Sources] = {}
        self.pool: object = None

    def _addresses(self) -> list[int]:
        parameters = itertools.chain.from_iterable(table.values() for table in self.tables)
        return [parameter.data_ptr() for parameter in parameters if parameter is not None]

    def serve(self, tokens: Tensor, positions: Positions) -> bool:
        """Returns whether a batch, B × T tokens of these positions, is replayed."""
        if tokens.device.type != self.device or not cuda_graphs.ENABLED or not tokens.numel():
            return False
        if torch.is_grad_enabled() or torch.is_autocast_enabled():
            return False
        width = padded(tokens.size(1), LENGTHS)
        return padded(len(tokens)) * width <= MOST_TOKENS and width <= positions.longest

    def encode(self, src_tokens: Tensor) -> EditEncoderOutput:
        """Runs the encoder: B × S tokens."""
        model = self.model
        if not self.serve(src_tokens, model.encoder_positions):
            return model.encode(src_tokens)
        with self.lock, torch.inference_mode(False), torch.no_grad():
            kept = sum(sources.size() for sources in self.sources.values())
            if kept > MOST_KEPT or self.addresses != self._addresses():
                self._clear()
            states = self._of(src_tokens).encode(src_tokens)
        mask = src_tokens.ne(model.pad)[:, None, None]
        return EditEncoderOutput(states, mask, source=src_tokens)

    def features(self, head: str, state: EditState) -> dict[tuple[str, int], Tensor]:
        """See the base class: B × T × C."""
        tokens, deleted = state.inputs()
        if not self.serve(tokens, self.model.decoder_positions):
            return self.model.features(head, state)
        with self.lock, torch.inference_mode(False), torch.no_grad():
            sources = self._of(state.encoder_out.states)
            features = sources.features(tokens, state.encoder_out, head, deleted)
        return {self.exits[head]: features}

    def _of(self, source: Tensor) -> "_Sources":
        shape = padded(source.size(0)), padded(source.size(1), LENGTHS)
        if self.pool is None and source.is_cuda:
            self.pool = torch.cuda.graph_pool_handle()
        if shape not in self.sources:
            self.sources[shape] = _Sources(self.model, shape, source.device, self.pool)
        return self.sources[shape]


class _Sources:
    """Buffers for sources of one shape, B × S, and for what is computed from them.

    keys_values: of each block that reads them. held: the encoder's states that are here. passes:
    of the decoder, with the buffers for what it reads.
    """

    def __init__(
        self,
        model: LevenshteinEditorModel,
        shape: tuple[int, int],
        device: torch.device,
        pool: object,
    ) -> None:
        self.model = model
        self.shape = shape
        self.replay = partial(Replay, device=device, pool=pool)
        weight = model.encoder_embed.weight
        self.tokens = torch.full(shape, model.pad, device=device)
        self.states = weight.new_zeros(*shape, weight.size(1))
        self.real = torch.zeros(shape, dtype=torch.bool, device=device)
        self.attentions = [
            module
            for module in model.decoder.modules()
            if isinstance(module, Attention) and module.query is not None
        ]
        output = EncoderOutput(self.states, None)
        self.keys_values: dict[nn.Module, tuple[Tensor, Tensor]] = {}
        for attention in self.attentions:
            key, value = attention.keys_values(output)
            self.keys_values[attention] = torch.zeros_like(key), torch.zeros_like(value)
        self.held: Tensor | None = None
        self.encoder = self.replay(self._encoded)
        self.projection = self.replay(self._project)
        self.passes: dict[tuple[Any, ...], tuple[Replay, Tensor, Tensor | None]] = {}

    def size(self) -> int:
        """Returns the padded tokens of all passes."""
        rows, width = self.shape
        return rows * (width + sum(width for width, *_ in self.passes))

    def encode(self, tokens: Tensor) -> Tensor:
        """Runs the encoder: B' × S' tokens → B' × S' × C; the states are held here."""
        load(self.tokens, tokens, self.model.pad)
        self.held = _part(self.encoder(), tokens)
        return self.held

    def _encoded(self) -> Tensor:
        self.states.copy_(self.model.encode(self.tokens).states)
        self.real.copy_(self.tokens.ne(self.model.pad))
        return self._project()

    def _project(self) -> Tensor:
        encoder_out = EncoderOutput(self.states, None)
        for attention in self.attentions:
            keys_values = attention.keys_values(encoder_out)
            for place, values in zip(self.keys_values[attention], keys_values):
                place.copy_(values)
        return self.states

    def _hold(self, encoder_out: EncoderOutput) -> None:
        """Copies the encoder's states here, and projects them, unless that has been done."""
        if encoder_out.states is self.held:
            return
        load(self.states, encoder_out.states, 0.0)
        real = torch.ones_like(encoder_out.states[..., 0], dtype=torch.bool)
        load(self.real, real if encoder_out.mask is None else encoder_out.mask.flatten(1), 0.0)
        self.projection()
        self.held = encoder_out.states

    def features(
        self, tokens: Tensor, encoder_out: EncoderOutput, head: str, deleted: Tensor | None
    ) -> Tensor:
        """Runs the decoder: B' × T tokens → B' × T × C."""
        self._hold(encoder_out)
        model = self.model
        width = padded(tokens.size(1), LENGTHS)
        key = width, model.exits[head], model.copies_source and head == "token", deleted is not None
        if key not in self.passes:
            self.passes[key] = self._pass(width, head, deleted is not None)
        replay, read, marked = self.passes[key]
        load(read, tokens, model.pad)
        if marked is not None and deleted is not None:
            load(marked, deleted, 0.0)
        return _part(replay(), tokens)

    def _pass(self, width: int, head: str, traced: bool) -> tuple[Replay, Tensor, Tensor | None]:
        tokens = self.tokens.new_full((self.shape[0], width), self.model.pad)
        deleted = torch.zeros_like(tokens, dtype=torch.bool) if traced else None

        def decode() -> Tensor:
            # a new mask: layers may cache what they made of an old one
            mask = self.real.clone()[:, None, None]
            encoder_out = EncoderOutput(self.states, mask, dict(self.keys_values))
            return self.model.decode(tokens, encoder_out, head, deleted)

        return self.replay(decode), tokens, deleted


def _part(values: Tensor, tokens: Tensor) -> Tensor:
    """Returns a copy of a replay's results without the filling: B × T."""
    rows, width = tokens.shape
    return values[:rows, :width].clone()


def replay_passes(model: LevenshteinEditorModel) -> None:
    """Replays decoding passes of few tokens as CUDA graphs where a GPU decodes."""
    model.passes = ReplayedPasses(model)


def replayed(model: Any) -> EditPolicy:
    """Returns the replayed passes of a model that was prepared for decoding, else the model."""
    return getattr(model, "passes", None) or model

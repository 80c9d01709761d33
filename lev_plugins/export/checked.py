"""Compares a model with the folder that was just written of it, on rows of random symbols.

Random symbols need no data. They also show how far each norm's output reaches.

Shapes: B rows, S source symbols, T symbols of a target, C channels.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lev_runtime.beam.prefixes import PrefixModel
from lev_runtime.errors import UserError
from lev_runtime.labels.labeler import Labeler
from lev_runtime.labels.pieces import EOS_ID, SPECIAL, Encoding
from lev_runtime.refine.editor import Editor
from lev_runtime.refine.policy import EditPolicy, EditState

from ..inference.enct5 import EncT5
from ..systems.levenshtein import LevenshteinEditorModel
from ..tasks.post_editing import PLACEHOLDER

#: what was compared, the model's outputs and the folder's
Outputs = Iterator[tuple[str, np.ndarray, np.ndarray]]

#: lengths of sources and targets; four rows of each are read
LENGTHS = (3, 9, 24)
ROWS = 4
#: how far the two may lie apart (root mean square), as a share of the outputs' standard deviation.
#: The tests' untrained models differ by 1e-6 in single precision and by up to 0.42 in 8 bits, so
#: that in 8 bits only gross faults show.
FARTHEST = {"fp32": 1e-3, "int8": 0.7}


def refuse_different(outputs: Outputs, precision: str) -> None:
    """Raises :class:`UserError` where a folder's outputs are not those of its model."""
    for name, ours, theirs in outputs:
        known = np.isfinite(ours)
        is_same = ours.shape == theirs.shape and (known == np.isfinite(theirs)).all()
        if is_same and known.any():
            difference = np.sqrt(np.mean((ours[known] - theirs[known]) ** 2))
            is_same = difference <= FARTHEST[precision] * max(ours[known].std(), 0.1)
        if not is_same:
            fault = f"the export's {name} differs from the model's on random symbols"
            raise UserError(f"{fault}; nothing was written: please report it with the options")


def random_rows(symbols: range, lengths: tuple[int, ...]) -> Iterator[Tensor]:
    """Yields rows of random symbols, B × length each; the same ones at every call."""
    generator = torch.Generator().manual_seed(1)
    for length in lengths:
        drawn = torch.randint(len(symbols), (ROWS, length), generator=generator)
        yield drawn + symbols.start


def framed(rows: Tensor, first: int | None, last: int) -> Tensor:
    """Returns rows between their ends; first: None, where nothing stands before them."""
    parts = [rows, rows.new_full((len(rows), 1), last)]
    if first is not None:
        parts.insert(0, rows.new_full((len(rows), 1), first))
    return torch.cat(parts, 1)


def within(limit: int) -> tuple[int, ...]:
    """Returns the lengths that rows may have, their ends apart."""
    return tuple(min(length, max(limit - 2, 1)) for length in LENGTHS)


# LevT -------------------------------------------------------------------------------------------


def edit_rows(model: LevenshteinEditorModel, task: Any) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yields a head, sources (B × S) and sentences that it reads (B × T), of every head."""
    sides = []
    for symbols, limit in zip((task.src_dict, task.tgt_dict), model.max_positions()):
        end = symbols.indices.get(PLACEHOLDER, len(symbols))
        inner = random_rows(range(symbols.nspecial, end), within(limit))
        sides.append([framed(rows, symbols.bos(), symbols.eos()) for rows in inner])
    for sources, sentences in zip(*sides):
        yield "deletion", sources, sentences
        yield "placeholder", sources, sentences
        opened = sentences.clone()
        opened[:, 1:-1:2] = task.placeholder
        yield "token", sources, opened


def edit_logits(policy: EditPolicy, head: str, source: Any, tokens: Any, placeholder: int) -> Any:
    """Returns what a head says of sentences, in the policy's own arrays."""
    where = tokens == placeholder
    places = policy.arrays.flatnonzero(where, int(where.sum()))
    return policy.logits(head, EditState(tokens, policy.encode(source), None, where, places))


@torch.no_grad()
def editor_outputs(model: LevenshteinEditorModel, task: Any, folder: Path) -> Outputs:
    """Yields the logits of every head."""
    policy = Editor(folder, threads=1).policy.policy
    for head, source, tokens in edit_rows(model, task):
        ours = edit_logits(model, head, source, tokens, task.placeholder)
        if head == "token":
            ours[:, model.forbidden_symbols] = -torch.inf  # as decoding masks them
        theirs = edit_logits(policy, head, source.numpy(), tokens.numpy(), task.placeholder)
        yield f"{head} head", ours.float().numpy(), theirs


@torch.no_grad()
def reaches(model: LevenshteinEditorModel, task: Any) -> dict[nn.Module, float]:
    """Returns the largest number that each norm makes of random symbols, before its gain and bias:
    a multiple of the row's standard deviation."""
    largest: dict[nn.Module, float] = {}

    def measure(norm: Any, inputs: tuple[Tensor, ...], _: Tensor) -> None:
        unit = functional.layer_norm(inputs[0], norm.normalized_shape, eps=norm.eps)
        largest[norm] = max(largest.get(norm, 0.0), float(unit.abs().max()))

    norms = [part for part in model.modules() if isinstance(part, nn.LayerNorm)]
    hooks = [norm.register_forward_hook(measure) for norm in norms]
    for head, source, tokens in edit_rows(model, task):
        edit_logits(model, head, source, tokens, task.placeholder)
    for hook in hooks:
        hook.remove()
    return largest


# models that write from left to right -----------------------------------------------------------


@torch.no_grad()
def generator_outputs(model: Any, task: Any, joins_draft: bool, folder: Path) -> Outputs:
    """Yields the log-probabilities of what follows each symbol of random targets."""
    exported = PrefixModel(folder, threads=1)
    source, target = task.source_dictionary, task.target_dictionary
    limits = [int(side.max_positions()) for side in (model.encoder, model.decoder)]
    sides = [
        random_rows(range(symbols.nspecial, len(symbols)), within(limit))
        for symbols, limit in zip((source, target), limits)
    ]
    for rows, targets in zip(*sides):
        sources = framed(rows, None, source.eos())
        if joins_draft:
            sources = torch.cat([sources, framed(rows.flip(1), None, source.eos())], 1)
        before = torch.cat([targets.new_full((ROWS, 1), target.eos()), targets], 1)
        lengths = torch.full((ROWS,), sources.shape[1])
        made = model(sources, lengths, before)
        ours = model.get_normalized_probs(made, log_probs=True).float().numpy()
        reader, numbers = exported.prefixes(sources.tolist()), np.arange(ROWS)
        read = [reader.read(numbers, numbers, symbols) for symbols in before.T.numpy()]
        yield "log-probabilities", ours, np.stack(read, 1)


# EncT5 ------------------------------------------------------------------------------------------


def labeler_outputs(model: EncT5, folder: Path) -> Outputs:
    """Yields the scores of texts of random subwords, or of words of two each."""
    labeler = Labeler(folder, threads=1)
    pieces = range(len(SPECIAL), len(model.metadata.pieces))
    for rows in random_rows(pieces, within(model.metadata.max_length)):
        words = [1 + place // 2 for place in range(rows.shape[1])]
        word_ids = [*words, 0] if labeler.tags else []
        kept = words[-1] if labeler.tags else model.texts_per_example
        windows = [Encoding([*row, EOS_ID], word_ids, kept, False) for row in rows.tolist()]
        scores = [np.stack([*each.batch_scores(windows)]) for each in (model, labeler)]
        yield "scores", scores[0], scores[1]

"""Compares a model with the folder that was just written of it, on rows of random symbols.

The model answers before the first graph is written, so that nothing an export does to it changes
what is expected. A folder answers through the runtime's own readers, by which texts are decoded, so
that the comparison is the same however its graphs were made. A folder in 8 bits is written in
single precision first, and compared tightly: rounding would hide what else is wrong.

Random symbols need no data. They also show how far each norm's output reaches.

Shapes: B rows, S source symbols, T symbols of a target, V symbols of a dictionary.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lev_runtime.beam.draft_guided import GuidedPrefixes
from lev_runtime.beam.prefixes import PrefixModel
from lev_runtime.beam.search import PrefixReader
from lev_runtime.errors import UserError
from lev_runtime.labels.labeler import Labeler
from lev_runtime.labels.labeling import TextLabeler
from lev_runtime.labels.pieces import EOS_ID, SPECIAL, Encoding
from lev_runtime.refine.arrays import NUMPY, Array, Arrays, padded
from lev_runtime.refine.editor import Editor
from lev_runtime.refine.policy import EditPolicy, EditState, Symbols, Trace
from lev_runtime.text.codec import Dictionary, TextProcessing

from ..systems.levenshtein import LevenshteinEditorModel
from ..tasks.post_editing import PLACEHOLDER
from .int8 import REACH, WIDEST

#: what was asked, and the answers of a model or of a folder
Answers = Iterator[tuple[str, np.ndarray]]
Rows = list[list[int]]

#: symbols of the rows that are read together; the first has only its ends
LENGTHS = (0, 3, 9, 24)
#: symbols of a row that is read alone, where the model reads so many
LONGEST = 256
#: prefixes of a batch, by the row that each continues: one row has none, another has two
PREFIXES = (0, 3, 1, 3)
#: how far the two may lie apart (root mean square) in single precision, as a share of the answers'
#: standard deviation: the tests' untrained models differ by 1e-6
FARTHEST = 1e-3
#: the same for 8 bits, as a multiple of what rounding its matrices changes of the answers: the
#: tests' models differ by up to 4.7 of it
FARTHEST_ROUNDED = 8.0
#: and of the standard deviation
FARTHEST_INT8 = 0.7
#: symbols of a dictionary whose text is cut and joined again
SPELT = 200


class Check(NamedTuple):
    """Says how a model is compared with its folder.

    model: of the checkpoint. asked: what answers for it. read: opens a folder, which is asked as
    that. ask: yields what is answered; it also takes whether the longest row is read.
    """

    model: nn.Module
    asked: Any
    read: Callable[[Path], Any]
    ask: Callable[[Any, bool], Answers]


class Asked(NamedTuple):
    """A model of fairseq's two dictionaries, or its folder.

    sides: the dictionaries of source and target, fairseq's or the runtime's. reader: what computes.
    """

    sides: Sequence[Any]
    processing: TextProcessing
    reader: Any
    joins_draft: bool = False


class Expected:
    """Holds the answers of a model, asked before it is exported.

    int8: also what it answers once its matrices are rounded to 8 bits.
    """

    @torch.no_grad()
    def __init__(self, check: Check, int8: bool) -> None:
        self.check = check
        check.model.eval()
        self.answers = list(check.ask(check.asked, True))
        if int8:
            with rounded(check.model):
                self.rounded = list(check.ask(check.asked, False))

    def refuse_different(self, folder: Path, int8: bool) -> None:
        """Raises :class:`UserError` where a folder's answers are not those of the model."""
        check = self.check
        try:
            with np.errstate(all="ignore"):
                answers = list(check.ask(check.read(folder), not int8))
        except Exception as error:  # onnxruntime has an exception of its own for every failure
            reason = str(error).strip().partition("\n")[0]
            raise _fault(f"cannot be run ({type(error).__name__}: {reason:.200})") from error
        near = self.rounded if int8 else self.answers
        for (name, ours), (_, same), (_, theirs) in zip(self.answers, near, answers):
            if not is_close(ours, same, theirs):
                raise _fault(f"has another {name} than the model on random symbols")


def _fault(what: str) -> UserError:
    advice = "nothing was written: please report it with the options"
    return UserError(f"the export {what}; {advice}")


def is_close(ours: np.ndarray, near: np.ndarray, theirs: np.ndarray) -> bool:
    """Returns whether a folder's answers are the model's, but for what rounding may change.

    near: the answers of the rounded model; the model's own where nothing was rounded.
    """
    if ours.dtype.kind != "f":
        return np.array_equal(ours, theirs)
    known = np.isfinite(ours)
    if ours.shape != theirs.shape or not known.any() or np.isnan(ours).any():
        return False
    if (known != np.isfinite(theirs)).any():
        return False
    unit = max(float(ours[known].std()), 0.1)
    by_rounding = FARTHEST_ROUNDED * _distance(ours[known], near[known])
    farthest = FARTHEST * unit + min(by_rounding, FARTHEST_INT8 * unit)
    return _distance(ours[known], theirs[known]) <= farthest


def _distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.sqrt(np.mean((ours - theirs) ** 2)))


@contextlib.contextmanager
def rounded(model: nn.Module) -> Iterator[None]:
    """Lets the matrices of a model have values that 8 bits and a scale for each row can say."""
    exact = [(part, part.clone()) for part in model.parameters() if part.dim() > 1]
    for part, values in exact:
        step = values.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
        part.copy_((values / step).round() * step)
    try:
        yield
    finally:
        for part, values in exact:
            part.copy_(values)


# rows -------------------------------------------------------------------------------------------


def random_rows(symbols: Sequence[int], limit: int, is_long: bool, seed: int = 1) -> Iterator[Rows]:
    """Yields rows of several lengths, then one of as many symbols as a model reads.

    They are the same at every call. No symbol comes again before all others have come.
    """
    generator = torch.Generator().manual_seed(seed)
    lengths = [min(length, limit) for length in LENGTHS]
    for batch in (lengths, [min(limit, LONGEST)])[: 1 + is_long]:
        orders = [torch.randperm(len(symbols), generator=generator).tolist() for _ in batch]
        yield [
            [symbols[order[place % len(order)]] for place in range(length)]
            for length, order in zip(batch, orders)
        ]


def text_answers(asked: Asked) -> Answers:
    """Yields what two dictionaries hold, and how their symbols are spelt."""
    for side, dictionary in zip(("source", "target"), asked.sides):
        symbols, *numbers = read_symbols(dictionary)
        yield f"{side} dictionary", np.array([*symbols, *map(str, numbers)])
    text = asked.processing.text(symbols[:SPELT])
    yield "text processing", np.array([text, *asked.processing.tokens(text)])
    yield "reading of drafts", np.array(asked.joins_draft)


def exported_symbols(symbols: Any) -> list[str]:
    """Returns the symbols of a dictionary of fairseq's, up to a placeholder."""
    end = symbols.indices.get(PLACEHOLDER, len(symbols))
    names: list[str] = symbols.symbols[: end + 1]
    return names


def read_symbols(side: Any) -> list[Any]:
    """Returns the symbols of a dictionary, up to a placeholder, the special ones' numbers, and as
    what each symbol is read in a text: as unknown if it is special."""
    if isinstance(side, Dictionary):
        _, *read, _ = side.encode(side.symbols)
        return [side.symbols, side.bos, side.pad, side.eos, side.unk, *read]
    names, unk = exported_symbols(side), side.unk()
    never = {*names[: side.nspecial], PLACEHOLDER}
    read = [unk if name in never else side.index(name) for name in names]
    return [names, side.bos(), side.pad(), side.eos(), unk, *read]


def inner_symbols(symbols: Any) -> list[int]:
    """Returns the symbols of text of a dictionary of fairseq's, the unknown one first."""
    names = exported_symbols(symbols)
    return [symbols.unk(), *range(symbols.nspecial, len(names) - (PLACEHOLDER in names))]


# LevT -------------------------------------------------------------------------------------------


def editor_check(editor: Any) -> Check:
    """Returns how an edit model (:class:`..inference.editor.LevenshteinEditor`) is compared."""
    (model,), task = editor.models, editor.task

    def read(folder: Path) -> Asked:
        """Opens a folder."""
        exported = Editor(folder, threads=1)
        sides = exported.source, exported.target
        return Asked(sides, exported.text_processing, exported.policy.policy)

    def ask(asked: Asked, is_long: bool) -> Answers:
        """Asks the model or its folder."""
        yield from text_answers(asked)
        yield from editor_answers(asked.reader, task, is_long)

    sides = task.src_dict, task.tgt_dict
    return Check(model, Asked(sides, editor.text_processing, model), read, ask)


def edit_states(
    rows: Array, symbols: Symbols, traces: bool, arrays: Arrays
) -> Iterator[tuple[str, EditState]]:
    """Yields a head and sentences that it reads (B × T), with deleted tokens for a model that reads
    these; the encoder's output is still to be added."""
    inner, real = symbols.inner(rows), rows != symbols.pad
    third = arrays.arange(rows.shape[1], rows) % 3
    deleted = inner & (third == 2) & traces
    opened = arrays.masked_fill(rows, inner & (third == 1), symbols.placeholder)
    yield "deletion", EditState(rows, None)
    for head, read in (("placeholder", rows), ("token", opened)):
        kept = arrays.compaction(real & ~deleted)(read, symbols.pad)
        trace = Trace(read, deleted, arrays) if traces else None
        where = kept == symbols.placeholder
        yield head, EditState(kept, None, trace, where, arrays.flatnonzero(where, None))


def editor_answers(policy: EditPolicy, task: Any, is_long: bool = False) -> Answers:
    """Yields the logits of every head, and what decoding may read in their place."""
    arrays, symbols = policy.arrays, task.symbols
    never = [symbols.pad, symbols.bos, symbols.eos, symbols.placeholder]
    longest = task.cfg.max_source_positions, task.cfg.max_target_positions
    limits = [min(sizes) for sizes in zip(longest, policy.max_positions())]
    sides = [
        random_rows(inner_symbols(side), max(limit - 2, 1), is_long, seed)
        for seed, (side, limit) in enumerate(zip((task.src_dict, task.tgt_dict), limits))
    ]
    for sources, sentences in zip(*sides):
        # the longest source has the shortest sentence
        batch = sources, sentences[::-1]
        framed = [[[symbols.bos, *row, symbols.eos] for row in side] for side in batch]
        source, rows = (
            arrays.as_tensor(padded(side, symbols.pad), torch.empty(0)) for side in framed
        )
        encoder_out = policy.encode(source)
        for head, state in edit_states(rows, symbols, policy.traces, arrays):
            state = replace(state, encoder_out=encoder_out)
            values = np.asarray(policy.logits(head, state), np.float32).copy()
            if head == "token":
                values[:, never] = -np.inf  # as decoding masks them
                best, likelihood = values.argmax(1), values.max(1) - NUMPY.logsumexp(values)
                if policy.best_tokens is not None:
                    best, likelihood = policy.best_tokens(state)
                yield "best token", values[np.arange(len(best)), best]
                yield "log-probability", likelihood
            else:  # what is said at padding is never read
                real = np.asarray(state.tokens[:, head == "placeholder" :] != symbols.pad)
                values = values[:, : real.shape[1]][real]
            yield f"{head} head", values


@torch.no_grad()
def near_norms(model: LevenshteinEditorModel, task: Any) -> set[nn.Module]:
    """Returns the norms whose output, before gain and bias, random symbols keep within
    :data:`.int8.REACH` standard deviations of the row; of rows that are not too wide."""
    far: set[nn.Module] = set()

    def measure(norm: Any, inputs: tuple[Tensor, ...], _: Tensor) -> None:
        """Notes a norm that is too wide, or whose output reaches too far."""
        unit = functional.layer_norm(inputs[0], norm.normalized_shape, eps=norm.eps)
        if norm.weight.numel() > WIDEST or unit.abs().max() > REACH:
            far.add(norm)

    norms: list[nn.Module]
    norms = [part for part in model.modules() if isinstance(part, nn.LayerNorm)]
    hooks = [norm.register_forward_hook(measure) for norm in norms]
    for _ in editor_answers(model, task):
        pass
    for hook in hooks:
        hook.remove()
    return {*norms} - far


# models that write from left to right -----------------------------------------------------------


class Taught:
    """A reader of prefixes that knows all log-probabilities, B × T × V, of targets."""

    def __init__(self, logs: np.ndarray, place: int = 0) -> None:
        self.logs, self.place = logs, place

    def read(self, units: np.ndarray, parents: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        """See :class:`lev_runtime.beam.search.PrefixReader`."""
        self.place += 1
        return self.logs[units, self.place - 1]


def generator_check(model: Any, task: Any, processing: TextProcessing) -> Check:
    """Returns how a model that writes from left to right is compared.

    Its readers are given sources, and symbols that targets begin with: one that reads by the
    symbol, one by the block, and one that reads the last symbol of the first target.
    """
    sides = task.source_dictionary, task.target_dictionary
    joins_draft = getattr(model, "joins_draft", False)
    end = sides[0].eos()
    limits = [int(side.max_positions()) - 1 for side in (model.encoder, model.decoder)]

    def taught(sources: Rows, targets: Rows) -> Iterator[PrefixReader]:
        """Yields the readers of the model itself."""
        tokens = torch.from_numpy(padded(sources, sides[0].pad()))
        before = torch.from_numpy(padded(targets, sides[1].pad()))
        made = model(tokens, torch.tensor([*map(len, sources)]), before)
        logs = model.get_normalized_probs(made, log_probs=True).float().numpy()
        yield from map(Taught, [logs] * 3, [0, 0, len(targets[0]) - 1])

    def read(folder: Path) -> Asked:
        """Opens a folder."""
        exported = PrefixModel(folder, threads=1)
        codec = exported.codec
        processing = TextProcessing(bpe=codec, by_letter=codec.by_letter)
        dictionaries = exported.source, exported.target
        readers = partial(exported_readers, exported)
        return Asked(dictionaries, processing, readers, exported.joins_draft)

    def ask(asked: Asked, is_long: bool) -> Answers:
        """Asks the model or its folder."""
        yield from text_answers(asked)
        sampled = [
            random_rows(inner_symbols(side), limit, is_long, seed)
            for seed, (side, limit) in enumerate(zip(sides, limits))
        ]
        for sources, others in zip(*sampled):
            drafts = [[*row[::-1], end] if joins_draft else [] for row in sources]
            read = [[*row, end, *draft] for row, draft in zip(sources, drafts)]
            targets = [[sides[1].eos(), *row] for row in others[::-1]]
            one = np.zeros(1, np.int64)
            steps = {
                "the symbol": prefix_steps(targets, PREFIXES) if len(targets) > 1 else (),
                "the block": prefix_steps(targets, range(len(targets))),
                "the last symbol": [(one, one, np.array(targets[0][-1:]))],
            }
            for name, reader in zip(steps, asked.reader(read, targets)):
                if logs := [reader.read(*step) for step in steps[name]]:
                    yield f"log-probability by {name}", np.concatenate(logs)

    return Check(model, Asked(sides, processing, taught, joins_draft), read, ask)


def exported_readers(exported: PrefixModel, sources: Rows, targets: Rows) -> Iterator[PrefixReader]:
    """Yields the readers of :func:`generator_check` of a folder."""
    prefixes = exported.prefixes(sources)
    yield prefixes
    # of short texts drafts lack symbols, so that reading goes on where they are right again
    is_short = len(sources) > 1
    drafts = [[s for n, s in enumerate(row) if n % 7 or not is_short] for row in targets]
    guided = GuidedPrefixes(prefixes, drafts)
    yield guided
    # after what the block's reader has read
    prefixes.depth = len(targets[0]) - 1
    past = guided.texts[0].past.items()
    prefixes.past = {name: values[:, :, : prefixes.depth] for name, values in past}
    yield prefixes


def prefix_steps(
    targets: Rows, chosen: Sequence[int]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yields of each step the arguments of a reader of prefixes.

    The prefixes change places at each step, and end as their targets do. chosen: the row of each.
    """
    order = list(range(len(chosen)))
    for place in range(max(map(len, targets))):
        before = order
        order = [number for number in before[::-1] if len(targets[chosen[number]]) > place]
        units = np.array([chosen[number] for number in order])
        parents = np.array([before.index(number) for number in order])
        symbols = np.array([targets[unit][place] for unit in units])
        yield units, parents if place else units, symbols


# EncT5 ------------------------------------------------------------------------------------------


def labeler_check(labeler: Any) -> Check:
    """Returns how an EncT5 (:class:`..inference.enct5.EncT5`) is compared."""

    def ask(asked: TextLabeler, is_long: bool) -> Answers:
        """Asks the model or its folder."""
        return labeler_answers(asked, labeler, is_long)

    return Check(labeler.model, labeler, lambda folder: Labeler(folder, threads=1), ask)


def labeler_answers(asked: TextLabeler, labeler: Any, is_long: bool) -> Answers:
    """Yields the scores of texts of random subwords, or of words of two each."""
    pieces = labeler.metadata.pieces
    limit = labeler.metadata.max_length
    yield "label", np.array([asked.kind, *asked.labels])
    texts = ["".join(pieces[len(SPECIAL) :][:SPELT])] * labeler.texts_per_example
    yield "text processing", np.array(asked.tokenizer.encode_texts(texts, limit).pieces)
    for rows in random_rows(range(len(SPECIAL) - 1, len(pieces)), max(limit - 1, 1), is_long):
        windows = []
        for row in rows:
            words = [1 + place // 2 for place in range(len(row))]
            word_ids = [*words, 0] if labeler.tags else []
            kept = max(words, default=0) if labeler.tags else labeler.texts_per_example
            windows.append(Encoding([*row, EOS_ID], word_ids, kept, False))
        scores = [part.reshape(-1) for part in asked.batch_scores(windows)]
        yield "scores", np.concatenate(scores)

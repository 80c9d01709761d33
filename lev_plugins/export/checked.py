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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lev_runtime.beam.draft_guided import GuidedPrefixes
from lev_runtime.beam.prefixes import PrefixModel
from lev_runtime.errors import UserError
from lev_runtime.labels.labeler import Labeler
from lev_runtime.labels.labeling import TextLabeler
from lev_runtime.labels.pieces import EOS_ID, SPECIAL, Encoding
from lev_runtime.refine.arrays import NUMPY, Array, Arrays, padded
from lev_runtime.refine.editor import Editor
from lev_runtime.refine.policy import EditPolicy, EditState, Symbols, Trace
from lev_runtime.text.codec import TextProcessing

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
    """Says how models of a family are compared with their folders.

    model: of the checkpoint. ask: what it answers. read: what reads a folder.
    ask_folder: what that answers to the same. Both also take whether the longest row is read.
    """

    model: nn.Module
    ask: Callable[[Any, bool], Answers]
    read: Callable[[Path], Any]
    ask_folder: Callable[[Any, bool], Answers]


class Expected:
    """Holds the answers of a model, asked before it is exported.

    int8: also what it answers once its matrices are rounded to 8 bits.
    """

    @torch.no_grad()
    def __init__(self, check: Check, int8: bool) -> None:
        self.check = check
        self.answers = list(check.ask(check.model.eval(), True))
        if int8:
            with rounded(check.model):
                self.rounded = list(check.ask(check.model, False))

    def refuse_different(self, folder: Path, int8: bool) -> None:
        """Raises :class:`UserError` where a folder's answers are not those of the model."""
        check = self.check
        try:
            with np.errstate(all="ignore"):
                answers = list(check.ask_folder(check.read(folder), not int8))
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


def dictionary_answers(names: Sequence[Any], processing: TextProcessing) -> Answers:
    """Yields what two dictionaries hold, and how their symbols are spelt.

    names: of source and target, as fairseq has them or as the runtime has.
    """
    for side, (symbols, *numbers) in zip(("source", "target"), names):
        yield f"{side} dictionary", np.array([*symbols, *map(str, numbers)])
    text = processing.text(symbols[:SPELT])
    yield "text processing", np.array([text, *processing.tokens(text)])


def exported_symbols(symbols: Any) -> list[str]:
    """Returns the symbols of a dictionary of fairseq's, up to a placeholder."""
    end = symbols.indices.get(PLACEHOLDER, len(symbols))
    names: list[str] = symbols.symbols[: end + 1]
    return names


def of_fairseq(symbols: Any) -> list[Any]:
    """Returns the symbols of a dictionary, up to a placeholder, the special ones' numbers, and as
    what each symbol is read in a text: as unknown if it is special."""
    names = exported_symbols(symbols)
    unk, never = symbols.unk(), {*names[: symbols.nspecial], PLACEHOLDER}
    read = [unk if name in never else symbols.index(name) for name in names]
    return [names, symbols.bos(), symbols.pad(), symbols.eos(), unk, *read]


def of_runtime(symbols: Any) -> list[Any]:
    """Returns the same of a dictionary of the runtime."""
    names = symbols.symbols
    _, *read, _ = symbols.encode(names)
    return [names, symbols.bos, symbols.pad, symbols.eos, symbols.unk, *read]


def inner_symbols(symbols: Any) -> list[int]:
    """Returns the symbols of text of a dictionary of fairseq's, the unknown one first."""
    names = exported_symbols(symbols)
    return [symbols.unk(), *range(symbols.nspecial, len(names) - (PLACEHOLDER in names))]


# LevT -------------------------------------------------------------------------------------------


def editor_check(editor: Any) -> Check:
    """Returns how an edit model (:class:`..inference.editor.LevenshteinEditor`) is compared."""
    (model,), task = editor.models, editor.task
    sides = task.src_dict, task.tgt_dict

    def ask(model: LevenshteinEditorModel, is_long: bool) -> Answers:
        yield from dictionary_answers([*map(of_fairseq, sides)], editor.text_processing)
        yield from editor_answers(model, task, is_long)

    def ask_folder(exported: Editor, is_long: bool) -> Answers:
        names = [of_runtime(side) for side in (exported.source, exported.target)]
        yield from dictionary_answers(names, exported.text_processing)
        yield from editor_answers(exported.policy.policy, task, is_long)

    return Check(model, ask, lambda folder: Editor(folder, threads=1), ask_folder)


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


def generator_check(model: Any, task: Any, processing: TextProcessing) -> Check:
    """Returns how a model that writes from left to right is compared."""
    sides = task.source_dictionary, task.target_dictionary
    joins_draft = getattr(model, "joins_draft", False)
    end = sides[1].eos()
    limits = [int(side.max_positions()) - 1 for side in (model.encoder, model.decoder)]

    def rows(is_long: bool) -> Iterator[tuple[Rows, Rows]]:
        """Yields sources, and symbols that targets begin with."""
        sampled = [
            random_rows(inner_symbols(side), limit, is_long, seed)
            for seed, (side, limit) in enumerate(zip(sides, limits))
        ]
        for sources, targets in zip(*sampled):
            drafts = [[*row[::-1], sides[0].eos()] if joins_draft else [] for row in sources]
            read = [[*row, sides[0].eos(), *draft] for row, draft in zip(sources, drafts)]
            yield read, [[end, *row] for row in targets[::-1]]

    def ask(model: Any, is_long: bool) -> Answers:
        yield from dictionary_answers([*map(of_fairseq, sides)], processing)
        yield "reading of drafts", np.array(joins_draft)
        for sources, targets in rows(is_long):
            tokens = torch.from_numpy(padded(sources, sides[0].pad()))
            lengths = torch.tensor([*map(len, sources)])
            before = torch.from_numpy(padded(targets, sides[1].pad()))
            made = model(tokens, lengths, before)
            logs = model.get_normalized_probs(made, log_probs=True).float().numpy()
            if len(sources) > 1:
                steps = [logs[units, place] for place, units, *_ in prefix_steps(targets, PREFIXES)]
                yield "log-probability by the symbol", np.concatenate(steps)
            order = range(len(sources))
            steps = [logs[units, place] for place, units, *_ in prefix_steps(targets, order)]
            yield "log-probability by the block", np.concatenate(steps)
            yield "log-probability of the last symbol", logs[:1, len(targets[0]) - 1]

    def ask_folder(exported: PrefixModel, is_long: bool) -> Answers:
        names = [of_runtime(side) for side in (exported.source, exported.target)]
        codec = exported.codec
        yield from dictionary_answers(names, TextProcessing(bpe=codec, by_letter=codec.by_letter))
        yield "", np.array(exported.joins_draft)
        for sources, targets in rows(is_long):
            prefixes = exported.prefixes(sources)
            # of short texts drafts lack symbols, so that reading goes on where they are right again
            is_short = len(sources) > 1
            drafts = [[s for n, s in enumerate(row) if n % 7 or not is_short] for row in targets]
            guided = GuidedPrefixes(prefixes, drafts)
            if is_short:
                steps = prefix_steps(targets, PREFIXES)
                yield "", np.concatenate([prefixes.read(*step) for _, *step in steps])
            steps = prefix_steps(targets, range(len(sources)))
            yield "", np.concatenate([guided.read(*step) for _, *step in steps])
            # the last symbol alone, after what the block's reader has read
            size = len(targets[0]) - 1
            past = guided.texts[0].past.items()
            prefixes.past = {name: values[:, :, :size] for name, values in past}
            prefixes.depth = size
            one = np.zeros(1, np.int64)
            yield "", prefixes.read(one, one, np.array(targets[0][-1:]))

    return Check(model, ask, lambda folder: PrefixModel(folder, threads=1), ask_folder)


def prefix_steps(
    targets: Rows, chosen: Sequence[int]
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Yields of each step its place in the targets, and the arguments of a reader of prefixes.

    The prefixes change places at each step, and end as their targets do. chosen: the row of each.
    """
    order = list(range(len(chosen)))
    for place in range(max(map(len, targets))):
        before = order
        order = [number for number in before[::-1] if len(targets[chosen[number]]) > place]
        units = np.array([chosen[number] for number in order])
        parents = np.array([before.index(number) for number in order])
        symbols = np.array([targets[unit][place] for unit in units])
        yield place, units, parents if place else units, symbols


# EncT5 ------------------------------------------------------------------------------------------


def labeler_check(labeler: Any) -> Check:
    """Returns how an EncT5 (:class:`..inference.enct5.EncT5`) is compared."""
    kind, task = type(labeler), labeler.task

    def ask(model: nn.Module, is_long: bool) -> Answers:
        return labeler_answers(kind(model, task), labeler, is_long)

    def ask_folder(exported: Labeler, is_long: bool) -> Answers:
        return labeler_answers(exported, labeler, is_long)

    return Check(labeler.model, ask, lambda folder: Labeler(folder, threads=1), ask_folder)


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

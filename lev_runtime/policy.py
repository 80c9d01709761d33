"""The policies of an exported Levenshtein Transformer: logits for sentences of any length.

Shapes: B sources, S source tokens, R sentences, T tokens of the longest of them, C channels,
V symbols, K the most tokens that can be missing in one slot, P tokens to be written.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .folder import Folder
from .sentence import Sentence
from .session import Session

_NONE = np.zeros(0, np.int64)


class Memory:
    """What the encoder leaves for the decoders, by the names of their inputs; B rows each."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays, self.size = arrays, len(arrays["source_mask"])
        self._selected: tuple[list[int], dict[str, np.ndarray]] = [*range(self.size)], arrays

    def rows(self, rows: list[int]) -> dict[str, np.ndarray]:
        """The arrays of some sources; the same rows are not copied twice."""
        known, arrays = self._selected
        if rows != known:
            arrays = {name: values[rows] for name, values in self.arrays.items()}
            self._selected = rows, arrays
        return arrays


class Policy:
    """An encoder and its decoders.

    Attributes:
        traces: whether the heads that insert read what was just deleted.
    """

    def __init__(self, folder: Folder, pad: int, placeholder: int, threads: int | None) -> None:
        graphs: dict[str, Any] = folder.description["graphs"]
        self.pad, self.placeholder = pad, placeholder
        self.encoder = folder.session(graphs["encoder"], threads)
        self.decoders: dict[str, Session] = {}
        for decoder in graphs["decoders"]:
            session = folder.session(decoder, threads)
            self.decoders |= dict.fromkeys(decoder["heads"], session)
        self.traces = "deleted" in self.decoders["token"].inputs

    def encode(self, sources: Sequence[np.ndarray]) -> Memory:
        """What every decoder pass reads of the sources."""
        tokens, mask = self._padded(sources)
        outputs = self.encoder.outputs
        states = self.encoder(outputs, {"tokens": tokens, "mask": mask})
        return Memory({"source": tokens, "source_mask": mask} | dict(zip(outputs, states)))

    def read_deletions(self, memory: Memory, sentences: Sequence[Sentence]) -> None:
        """Notes the logits of keeping (0) and deleting (1) the tokens of sentences that lack them;
        those of the slots, too, where both heads read the same features."""
        lacking = [sentence for sentence in sentences if sentence.deletion is None]
        if lacking:
            self._read(memory, lacking, "deletion", [None] * len(lacking))

    def read_slots(self, memory: Memory, sentences: Sequence[Sentence]) -> None:
        """Notes the logits of how many tokens each slot lacks, for sentences without them."""
        lacking = [sentence for sentence in sentences if sentence.slots is None]
        if lacking:
            self._read(memory, lacking, "placeholder", [sentence.trace for sentence in lacking])

    def token_logits(self, memory: Memory, sentences: Sequence[Sentence]) -> list[np.ndarray]:
        """Of the tokens at the placeholders of each sentence: P × V, −∞ for what is never
        written."""
        return [logits for (logits,) in self._write(memory, sentences, ["token"])]

    def best_tokens(
        self, memory: Memory, sentences: Sequence[Sentence]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """The likeliest tokens at the placeholders of each sentence, and their log-probabilities:
        P each. Logits of large vocabularies are not copied for it."""
        pairs = self._write(memory, sentences, ["best", "probability"])
        return [(tokens, np.log(probability)) for tokens, probability in pairs]

    def _write(
        self, memory: Memory, sentences: Sequence[Sentence], outputs: list[str]
    ) -> list[list[np.ndarray]]:
        """A pass of the token head; its outputs by sentence."""
        session = self.decoders["token"]
        traces = [sentence.trace for sentence in sentences]
        inputs = self._inputs(session, memory, sentences, traces)
        rows, columns = np.nonzero(inputs["tokens"] == self.placeholder)
        width = inputs["tokens"].shape[1]
        inputs |= {"places": rows * width + columns, "row": rows}
        if "copied" in session.inputs:
            inputs["copied"] = _copied(inputs, rows, columns)
        written = session(outputs, inputs)
        if len(sentences) == 1:
            return [written]
        ends = np.bincount(rows, minlength=len(sentences)).cumsum()[:-1]
        return [[*parts] for parts in zip(*(np.split(values, ends) for values in written))]

    # passes -------------------------------------------------------------------------------------

    def _read(
        self, memory: Memory, sentences: Sequence[Sentence], head: str, traces: Sequence[Any]
    ) -> None:
        """A pass for a head that decides of tokens and slots; notes all that it gives."""
        session = self.decoders[head]
        inputs = self._inputs(session, memory, sentences, traces)
        outputs = [name for name in ("deletion", "placeholder") if name in session.outputs]
        if "placeholder" in outputs:
            inputs |= self._slot_ends(inputs, sentences, traces)
        logits = dict(zip(outputs, session(outputs, inputs)))
        first = 0
        for number, (sentence, trace) in enumerate(zip(sentences, traces)):
            size = len(sentence.tokens)
            if "deletion" in logits and trace is None:
                sentence.deletion = logits["deletion"][number, :size]
            if "placeholder" in logits:
                sentence.slots = logits["placeholder"][first : first + size - 1]
                first += size - 1

    def _inputs(
        self,
        session: Session,
        memory: Memory,
        sentences: Sequence[Sentence],
        traces: Sequence[Any],
    ) -> dict[str, np.ndarray]:
        """What every pass takes; of traces, the tokens with those that were deleted."""
        shown = [s.tokens if t is None else t.tokens for s, t in zip(sentences, traces)]
        tokens, mask = self._padded(shown)
        inputs = dict(memory.rows([sentence.row for sentence in sentences]))
        inputs |= dict.fromkeys(("places", "copied", "row", "left", "right", "gone", "slot"), _NONE)
        inputs |= {"tokens": tokens, "mask": mask}
        if "deleted" in session.inputs:
            deleted = np.zeros((*tokens.shape, 1), np.float32)
            for row, trace in enumerate(traces):
                if trace is not None:
                    deleted[row, : len(trace.deleted), 0] = trace.deleted
            inputs["deleted"] = deleted
        return inputs

    def _slot_ends(
        self, inputs: dict[str, np.ndarray], sentences: Sequence[Sentence], traces: Sequence[Any]
    ) -> dict[str, np.ndarray]:
        """The tokens left and right of every slot and, of traces, what was deleted in which; all
        in the batch laid flat."""
        width = inputs["tokens"].shape[1]
        left, right, gone = [], [], []
        for row, (sentence, trace) in enumerate(zip(sentences, traces)):
            first = row * width
            if trace is None:
                standing = np.arange(first, first + len(sentence.tokens))
            else:
                standing = first + np.flatnonzero(~trace.deleted)
                gone.append(first + np.flatnonzero(trace.deleted))
            left.append(standing[:-1])
            right.append(standing[1:])
        ends = {"left": np.concatenate(left), "right": np.concatenate(right)}
        if gone:
            ends["gone"] = np.concatenate(gone)
            ends["slot"] = np.searchsorted(ends["left"], ends["gone"]) - 1
        return ends

    def _padded(self, rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """R × T, padded on the right, and int32, 0 where that is."""
        if len(rows) == 1:
            tokens = rows[0][None]
            return tokens, np.ones(tokens.shape, np.int32)
        lengths = np.array([*map(len, rows)])
        mask = np.arange(lengths.max()) < lengths[:, None]
        tokens = np.full(mask.shape, self.pad)
        tokens[mask] = np.concatenate(rows)
        return tokens, mask.astype(np.int32)


def _copied(inputs: dict[str, np.ndarray], rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Source tokens at the relative places of placeholders, P, in the sources laid flat; the first
    and the last are the source's (Gu et al., 2018, §3.1.2)."""
    source = inputs["source_mask"]
    last = source.sum(1)[rows] - 1
    end = np.maximum(inputs["mask"].sum(1)[rows] - 1, 1)
    places = (2 * columns * last + end) // (2 * end)
    return rows * source.shape[1] + np.minimum(places, last)

"""The policies of an exported Levenshtein Transformer.

Shapes: B sentences, S source tokens, T tokens of the longest sentence, Q slots of all together,
C channels, V symbols, K the most tokens that can be missing in one slot, P tokens to be written.
"""

from typing import Any, NamedTuple

import numpy as np

from ..errors import UserError
from ..folder import EXPORT_AGAIN, Folder, Session
from .arrays import NUMPY
from .policy import HEADS, EditState, FeaturePolicy

Inputs = dict[str, np.ndarray]


class EncoderOutput:
    """The encoder's output.

    arrays: by the names of the decoders' inputs, a row for each source. index: B, the source of
    each sentence. gathered: the arrays that a pass read last, by the sources of their rows.
    """

    def __init__(self, arrays: Inputs, index: np.ndarray, gathered: dict[bytes, Inputs]) -> None:
        self.arrays = arrays
        self.index = index
        self.gathered = gathered

    def select(self, rows: np.ndarray) -> "EncoderOutput":
        """Returns that of some sentences."""
        return EncoderOutput(self.arrays, self.index[rows], self.gathered)

    def inputs(self) -> Inputs:
        """Returns the arrays of the sentences; the same are not copied twice."""
        key = self.index.tobytes()
        if key not in self.gathered:
            arrays = {name: values[self.index] for name, values in self.arrays.items()}
            self.gathered.clear()
            self.gathered[key] = arrays
        return self.gathered[key]


class ExportedPolicy(FeaturePolicy):
    """An encoder and its decoders.

    longest: the most tokens of source and target. Its features are logits.

    Attributes:
        tables: what is looked up outside of the graphs, by name.

    Raises:
        UserError: an export of before 0.9, whose graphs begin with tokens.
    """

    exits = {head: head for head in HEADS}

    def __init__(
        self,
        folder: Folder,
        pad: int,
        placeholder: int,
        longest: tuple[int, int],
        threads: int | None,
    ) -> None:
        graphs: dict[str, Any] = folder.description["graphs"]
        tables = graphs.get("tables")
        if tables is None:
            raise UserError(f"{folder.path} was exported before version 0.9; {EXPORT_AGAIN}")
        self.pad = pad
        self.placeholder = placeholder
        self.longest = longest
        self.encoder = folder.session(graphs["encoder"], threads)
        self.decoders: dict[str, Session] = {}
        for decoder in graphs["decoders"]:
            session = folder.session(decoder, threads)
            self.decoders |= dict.fromkeys(decoder["heads"], session)
        self.tables = {name: folder.table(described) for name, described in tables.items()}
        self.scale = np.float32(graphs["scale"])
        self.traces = "mark" in tables

    def max_positions(self) -> tuple[int, int]:
        """See the base class."""
        return self.longest

    def encode(self, tokens: np.ndarray) -> EncoderOutput:
        """Runs the encoder: B × S tokens."""
        mask = (tokens != self.pad).astype(np.int32)
        inputs = {"mask": mask, "x": self._embedded("source", tokens)}
        outputs = self.encoder.outputs
        arrays = dict(zip(outputs, self.encoder(outputs, inputs)))
        hidden = np.where(mask, np.float32(0), np.float32(-np.inf))
        arrays |= {"source": tokens, "source_mask": mask, "hidden": hidden}
        index = np.arange(len(tokens))
        return EncoderOutput(arrays, index, {index.tobytes(): arrays})

    def features(self, head: str, state: EditState) -> Inputs:
        """Returns the logits of a head, and of those that leave the same decoder.

        A pass makes both deletion's and the placeholders'. Symbols that are never written have −∞.
        """
        if head == "token":
            return dict(zip(["token"], self._write(["token"], state)))
        session = self.decoders[head]
        texts = _Texts.of(state, self.pad)
        inputs = self._inputs(state, texts)
        (sides,) = session(["sides"], inputs)
        logits = {}
        if session is self.decoders["deletion"]:
            logits["deletion"], sides = sides[..., :2], sides[..., 2:]
        if session is self.decoders["placeholder"]:
            logits["placeholder"] = self._by_slot(sides, texts)
        width = state.inputs()[0].shape[1]
        return {
            name: values if values.shape[1] == width else NUMPY.resize(values, width)
            for name, values in logits.items()
        }

    def head_logits(self, head: str, features: np.ndarray, state: EditState) -> np.ndarray:
        """See the base class."""
        return features[:, : state.tokens.shape[1] - 1] if head == "placeholder" else features

    def best_tokens(self, state: EditState) -> tuple[np.ndarray, np.ndarray]:
        """See the base class: logits of large vocabularies are not copied for it."""
        probability, best = self._write(["probability", "best"], state)
        return best, np.log(probability)

    # passes -------------------------------------------------------------------------------------

    def _write(self, outputs: list[str], state: EditState) -> list[np.ndarray]:
        """Runs the token head at the placeholders."""
        texts = _Texts.of(state, self.pad)
        inputs = self._inputs(state, texts)
        rows, columns = (texts.tokens == self.placeholder).nonzero()
        inputs |= {"places": rows * texts.tokens.shape[1] + columns, "row": rows}
        if "states" in inputs:
            copied = _copied(inputs, rows, columns)
            states = inputs["states"]
            inputs["x"][rows, columns] += states.reshape(-1, states.shape[2])[copied]
        return self.decoders["token"](outputs, inputs)

    def _inputs(self, state: EditState, texts: "_Texts") -> Inputs:
        """Returns the inputs of every pass."""
        inputs = state.encoder_out.inputs() | {"mask": texts.mask.astype(np.int32)}
        inputs["x"] = x = self._embedded("target", texts.tokens)
        if texts.deleted is not None:
            x[texts.deleted] += self.tables["mark"][0] * self.scale
        return inputs

    def _embedded(self, side: str, tokens: np.ndarray) -> np.ndarray:
        """Returns the vectors of tokens at their places: B × T → B × T × C."""
        x = self.tables[side][tokens]
        x *= self.scale
        x += self.tables[f"{side}_places"][: tokens.shape[1]]
        return x

    def _by_slot(self, sides: np.ndarray, texts: "_Texts") -> np.ndarray:
        """Sums what the ends of each slot say, and what was deleted there: B × T × (K + 1)."""
        size = sides.shape[2] // (3 if self.traces else 2)
        if texts.deleted is None:
            sums = sides[..., :size].copy()
            sums[:, :-1] += sides[:, 1:, size : 2 * size]
            return sums
        rows = sides.reshape(-1, sides.shape[2])
        left, right = texts.slot_ends()
        sums = rows[left, :size] + rows[right, size : 2 * size]
        # the mean of what was deleted, and how many these are; nothing where there is none
        gone = texts.deleted.ravel().nonzero()[0]
        slot = left.searchsorted(gone) - 1
        counts = np.bincount(slot, minlength=len(sums))
        what = np.zeros_like(sums)
        np.add.at(what, slot, rows[gone, 2 * size :])
        slots = counts.nonzero()[0]
        table, counts = self.tables["counts"], counts[slots]
        what = what[slots] / counts[:, None].astype(np.float32)
        sums[slots] += what + table[np.minimum(counts, len(table)) - 1]
        return texts.by_slot(sums)


class _Texts(NamedTuple):
    """Sentences as a pass reads them.

    tokens: R × T, as wide as the longest. mask: R × T, bool, tokens, those just deleted with them.
    deleted: R × T, bool, those; None: none are there.
    """

    tokens: np.ndarray
    mask: np.ndarray
    deleted: np.ndarray | None

    @classmethod
    def of(cls, state: EditState, pad: int) -> "_Texts":
        """Returns the sentences of a state, without columns that hold nothing but padding."""
        tokens, deleted = state.inputs()
        mask = tokens != pad
        width = mask.sum(1).max()
        deleted = None if deleted is None else deleted[:, :width]
        return cls(tokens[:, :width], mask[:, :width], deleted)

    def standing(self) -> np.ndarray:
        """Returns R × T, bool: tokens that were not deleted."""
        return self.mask if self.deleted is None else self.mask & ~self.deleted

    def slot_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the tokens left and right of every slot, Q each, in the batch flattened."""
        standing = self.standing()
        places = standing.ravel().nonzero()[0]
        left, right = places[:-1], places[1:]
        if len(standing) > 1:  # no slot lies between two sentences
            is_slot = np.ones(len(left), bool)
            is_slot[standing.sum(1).cumsum()[:-1] - 1] = False
            left, right = left[is_slot], right[is_slot]
        return left, right

    def by_slot(self, logits: np.ndarray) -> np.ndarray:
        """Spreads Q × (K + 1) logits: R × (T − 1) × (K + 1), 0 after the ends; T: that stand."""
        if len(self.tokens) == 1:
            return logits[None]
        sizes = self.standing().sum(1)
        slots = np.arange(1, sizes.max()) < sizes[:, None]
        padded = np.zeros((*slots.shape, logits.shape[1]), logits.dtype)
        padded[slots] = logits
        return padded


def _copied(inputs: Inputs, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Returns the relative places of placeholders in the sources flattened: P.

    The first and the last are the source's (Gu et al., 2018, §3.1.2).
    """
    source, mask = inputs["source_mask"], inputs["mask"]
    last = source.sum(1)[rows] - 1
    end = np.maximum(mask.sum(1)[rows] - 1, 1)
    places = (2 * columns * last + end) // (2 * end)
    return rows * source.shape[1] + np.minimum(places, last)

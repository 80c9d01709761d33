"""The policies of an exported Levenshtein Transformer.

Shapes: B sentences, S source tokens, T tokens of the longest sentence, Q slots of all together,
C channels, V symbols, K the most tokens that can be missing in one slot, P tokens to be written.
"""

from typing import Any, NamedTuple

import numpy as np

from .folder import Folder
from .policy import EditPolicy, EditState
from .session import Session
from .traces import Trace

_NONE = np.zeros(0, np.int64)
_ONE = np.zeros(1, np.int64)  # the row of the only sentence
#: inputs that a pass may not need
_UNASKED = dict.fromkeys(("places", "copied", "row", "left", "right", "gone", "slot"), _NONE)
Inputs = dict[str, np.ndarray]


class EncoderOutput:
    """The encoder's output, and the logits that were computed last.

    arrays: by the names of the decoders' inputs, a row for each source. index: B, the source of
    each sentence. cached_logits: of a head the tokens that it read last, and its logits for them.
    """

    def __init__(self, arrays: Inputs, index: np.ndarray) -> None:
        self.arrays = arrays
        self.index = index
        self.cached_logits: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        all_sources = np.arange(len(arrays["source_mask"]))
        self._chosen: tuple[bytes, Inputs] = all_sources.tobytes(), arrays

    def select(self, rows: np.ndarray) -> "EncoderOutput":
        """Returns that of some sentences."""
        encoder_out = EncoderOutput(self.arrays, self.index[rows])
        for head, (tokens, logits) in self.cached_logits.items():
            encoder_out.cached_logits[head] = tokens[rows], logits[rows]
        return encoder_out

    def rows_to_read(self, head: str, tokens: np.ndarray, pad: int) -> np.ndarray:
        """R, bool: sentences that a head has not read as they are (R × T tokens)."""
        if head not in self.cached_logits:
            return np.ones(len(tokens), bool)
        before, _ = self.cached_logits[head]
        before = _fitted(before, tokens.shape[1], pad)
        return (before != tokens).any(1)

    def put(
        self, head: str, tokens: np.ndarray, logits: np.ndarray, rows: np.ndarray, pad: int
    ) -> None:
        """Stores a head's logits of the sentences at ``rows`` of R × T tokens."""
        if len(rows) < len(tokens):
            count, width = len(tokens), logits.shape[1]
            no_tokens = np.full((count, 1), pad)
            no_logits = np.zeros((count, *logits.shape[1:]), np.float32)
            before, earlier = self.cached_logits.get(head, (no_tokens, no_logits))
            widest = max(earlier.shape[1], width)
            wide = _fitted(earlier, widest, 0.0)
            wide[rows, :width] = logits
            read = _fitted(before, tokens.shape[1], pad).copy()
            read[rows] = tokens[rows]
            tokens, logits = read, wide
        self.cached_logits[head] = tokens, logits

    def forget(self, rows: np.ndarray, pad: int) -> None:
        """Drops the cached logits of sentences (R, bool)."""
        for head, (tokens, logits) in self.cached_logits.items():
            self.cached_logits[head] = np.where(rows[:, None], pad, tokens), logits

    def inputs(self, rows: np.ndarray) -> Inputs:
        """Returns the arrays of the sentences at ``rows``; the same are not copied twice."""
        sources = self.index[rows]
        key, arrays = self._chosen
        if sources.tobytes() != key:
            arrays = {name: values[sources] for name, values in self.arrays.items()}
            self._chosen = sources.tobytes(), arrays
        return arrays


class ExportedPolicy(EditPolicy):
    """An encoder and its decoders.

    longest: the most tokens of source and target.
    """

    def __init__(
        self,
        folder: Folder,
        pad: int,
        placeholder: int,
        longest: tuple[int, int],
        threads: int | None,
    ) -> None:
        graphs: dict[str, Any] = folder.description["graphs"]
        self.pad = pad
        self.placeholder = placeholder
        self.longest = longest
        self.encoder = folder.session(graphs["encoder"], threads)
        self.decoders: dict[str, Session] = {}
        for decoder in graphs["decoders"]:
            session = folder.session(decoder, threads)
            self.decoders |= dict.fromkeys(decoder["heads"], session)
        self.traces = "deleted" in self.decoders["token"].inputs

    def max_positions(self) -> tuple[int, int]:
        """See the base class."""
        return self.longest

    def encode(self, tokens: np.ndarray) -> EncoderOutput:
        """Runs the encoder: B × S tokens."""
        mask = (tokens != self.pad).astype(np.int32)
        outputs = self.encoder.outputs
        states = self.encoder(outputs, {"tokens": tokens, "mask": mask})
        arrays = {"source": tokens, "source_mask": mask}
        arrays |= zip(outputs, states)
        return EncoderOutput(arrays, np.arange(len(tokens)))

    def logits(self, head: str, state: EditState) -> np.ndarray:
        """See the base class; −∞ for symbols that are never written."""
        if head == "token":
            (logits,) = self._write(["token"], state)
            return logits
        trace = state.trace if head == "placeholder" else None
        return self._decide(head, state.tokens, state.encoder_out, trace)

    def best_tokens(self, state: EditState) -> tuple[np.ndarray, np.ndarray]:
        """See the base class: logits of large vocabularies are not copied for it."""
        best, probability = self._write(["best", "probability"], state)
        return best, np.log(probability)

    # passes -------------------------------------------------------------------------------------

    def _decide(
        self, head: str, tokens: np.ndarray, encoder_out: EncoderOutput, trace: Trace | None
    ) -> np.ndarray:
        """Returns a head's logits, R × T × 2 or R × (T − 1) × (K + 1); a pass is made for the
        sentences that are not as they were read last, or that something was just deleted from."""
        width = tokens.shape[1] - (head == "placeholder")
        cached = encoder_out.cached_logits.get(head)
        if cached is not None and cached[0] is tokens and trace is None:
            return _fitted(cached[1], width, 0.0)
        unread = encoder_out.rows_to_read(head, tokens, self.pad)
        traced = None if trace is None else trace.deleted.any(1)
        if traced is not None:
            unread |= traced
        if head == "deletion":  # <s> and </s> alone are not read: they stay
            unread &= (tokens[:, 2:] != self.pad).any(1)
        rows = unread.nonzero()[0]
        if len(rows):
            texts = _Texts.of(tokens, trace, self.pad, rows)
            for name, logits in self._read(head, encoder_out, texts).items():
                encoder_out.put(name, tokens, logits, rows, self.pad)
        if head not in encoder_out.cached_logits:
            return np.zeros((*tokens.shape, 2), np.float32)
        logits = encoder_out.cached_logits[head][1]
        if traced is not None:  # what was deleted is read once alone
            encoder_out.forget(traced, self.pad)
        return _fitted(logits, width, 0.0)

    def _read(
        self, head: str, encoder_out: EncoderOutput, texts: "_Texts"
    ) -> dict[str, np.ndarray]:
        """Runs the decoder of a head that decides about tokens or slots: the logits of all heads
        of its decoder that do, by name."""
        session = self.decoders[head]
        inputs = self._inputs(session, encoder_out, texts)
        outputs = [name for name in ("deletion", "placeholder") if name in session.outputs]
        if "placeholder" in outputs:
            inputs |= texts.slot_ends()
        logits = dict(zip(outputs, session(outputs, inputs)))
        if "placeholder" in logits:
            logits["placeholder"] = texts.by_slot(logits["placeholder"])
        return logits

    def _write(self, outputs: list[str], state: EditState) -> list[np.ndarray]:
        """Runs the token head over the sentences with placeholders."""
        session = self.decoders["token"]
        tokens = state.tokens
        writing = _ONE
        if len(tokens) > 1:
            writing = (tokens == self.placeholder).any(1).nonzero()[0]
        texts = _Texts.of(tokens, state.trace, self.pad, writing)
        inputs = self._inputs(session, state.encoder_out, texts)
        rows, columns = (texts.tokens == self.placeholder).nonzero()
        inputs |= {"places": rows * texts.tokens.shape[1] + columns, "row": rows}
        if "copied" in session.inputs:
            inputs["copied"] = _copied(inputs, rows, columns)
        return session(outputs, inputs)

    def _inputs(self, session: Session, encoder_out: EncoderOutput, texts: "_Texts") -> Inputs:
        """Returns the inputs of every pass."""
        inputs = encoder_out.inputs(texts.rows) | _UNASKED
        inputs["tokens"], inputs["mask"] = texts.tokens, texts.mask.astype(np.int32)
        if "deleted" in session.inputs:
            inputs["deleted"] = texts.marked()
        return inputs


class _Texts(NamedTuple):
    """Sentences as a pass reads them.

    rows: R of the batch. tokens: R × T, as wide as the longest. mask: R × T, bool, tokens, those
    just deleted with them. deleted: R × T, bool, those; None: none are there.
    """

    rows: np.ndarray
    tokens: np.ndarray
    mask: np.ndarray
    deleted: np.ndarray | None

    @classmethod
    def of(cls, tokens: np.ndarray, trace: Trace | None, pad: int, rows: np.ndarray) -> "_Texts":
        """Selects those at ``rows``, with what was deleted from them."""
        is_part = len(rows) < len(tokens)
        if trace is not None:
            chosen = trace.select(rows) if is_part else trace
            shown, deleted = chosen.tokens, chosen.deleted
        else:
            shown = tokens[rows] if is_part else tokens
            deleted = None
        mask = shown != pad
        if is_part:
            width = mask.sum(1).max()
            shown, mask = shown[:, :width], mask[:, :width]
            deleted = None if deleted is None else deleted[:, :width]
        return cls(rows, shown, mask, deleted)

    def marked(self) -> np.ndarray:
        """Returns R × T × 1, 1 for what was deleted."""
        if self.deleted is None:
            return np.zeros((*self.mask.shape, 1), np.float32)
        return self.deleted[..., None].astype(np.float32)

    def standing(self) -> np.ndarray:
        """Returns R × T, bool: tokens that were not deleted."""
        return self.mask if self.deleted is None else self.mask & ~self.deleted

    def slot_ends(self) -> Inputs:
        """Returns the tokens left and right of every slot, Q each, and which were deleted, in
        which slot; all in the batch flattened."""
        standing = self.standing()
        places = standing.ravel().nonzero()[0]
        left, right = places[:-1], places[1:]
        if len(standing) > 1:  # no slot lies between two sentences
            is_slot = np.ones(len(left), bool)
            is_slot[standing.sum(1).cumsum()[:-1] - 1] = False
            left, right = left[is_slot], right[is_slot]
        ends = {"left": left, "right": right}
        if self.deleted is not None:
            gone = self.deleted.ravel().nonzero()[0]
            slot = left.searchsorted(gone) - 1
            ends |= {"gone": gone, "slot": slot}
        return ends

    def by_slot(self, logits: np.ndarray) -> np.ndarray:
        """Q × (K + 1) logits → R × (T − 1) × (K + 1), 0 behind the ends; T: tokens that stand."""
        if len(self.rows) == 1:
            return logits[None]
        sizes = self.standing().sum(1)
        slots = np.arange(1, sizes.max()) < sizes[:, None]
        laid_out = np.zeros((*slots.shape, logits.shape[1]), logits.dtype)
        laid_out[slots] = logits
        return laid_out


def _fitted(values: np.ndarray, width: int, fill: float) -> np.ndarray:
    """Returns R × T … values, as wide as that: cut, or with more behind them."""
    if values.shape[1] >= width:
        return values[:, :width]
    wide = np.full((len(values), width, *values.shape[2:]), fill, values.dtype)
    wide[:, : values.shape[1]] = values
    return wide


def _copied(inputs: Inputs, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Source tokens at the relative places of placeholders, P, in the sources flattened; the first
    and the last are the source's (Gu et al., 2018, §3.1.2)."""
    source, mask = inputs["source_mask"], inputs["mask"]
    last = source.sum(1)[rows] - 1
    end = np.maximum(mask.sum(1)[rows] - 1, 1)
    places = (2 * columns * last + end) // (2 * end)
    return rows * source.shape[1] + np.minimum(places, last)

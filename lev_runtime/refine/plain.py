"""Decoding over lists of numbers, without history, marks or candidates.

For a few sentences arrays cost more than the numbers in them. Only speed depends on this:
:class:`.Decoding` answers the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..history import EditHypothesis, Termination, hypothesis
from .arrays import Array
from .decoding import DELETE, KEEP, length_caps
from .options import RefinementOptions
from .policy import EditState, FeaturePolicy, Symbols, Trace


class Line:
    """A sentence.

    Its cells are a token, its place in the draft (−1: it is newer), log p (nats) of the action that
    put or kept it, and whether it was just deleted.

    Attributes:
        cells: all that are read. left: those that are not deleted; the same list if all are.
        counts: how many tokens are missing in each slot; empty: not known. seen: the tokens that
            deletions have left.
    """

    def __init__(self, number: int, tokens: Iterable[int]) -> None:
        self.number, self.actions = number, 0.0
        self.cells = self.left = [(token, place, 0.0, False) for place, token in enumerate(tokens)]
        self.counts: list[int] = []
        self.seen: list[list[int]] = []


class PlainDecoding:
    """A batch while it is decoded; arguments as of :class:`.Decoding`, the drafts as lists.

    They have no marks; the options are plain, and the policy has ``best_tokens``.
    """

    def __init__(
        self,
        policy: FeaturePolicy,
        source: Array,
        drafts: Iterable[Sequence[int]],
        symbols: Symbols,
        options: RefinementOptions,
    ) -> None:
        self.policy, self.arrays, self.options = policy, policy.arrays, options
        self.source, self.symbols = source, symbols
        self.encoder_out = policy.encode(source)
        self.lines = [Line(*numbered) for numbered in enumerate(drafts)]
        sizes = [len(line.cells) for line in self.lines]
        self.caps = length_caps(policy, source, sizes, symbols.pad, options)
        self.answers: dict[int, EditHypothesis] = {}

    def run(self) -> list[EditHypothesis]:
        """Decodes (Algorithm 2); returns one hypothesis for every row, in order."""
        most = self.options.max_iter
        for step in range(most):
            for edit in (self.delete, self.insert, self.fill):
                if self.lines:
                    edit(step)
                    self.lines = [line for line in self.lines if line.number not in self.answers]
        for line in self.lines:
            self.finish(line, most, "max_iterations")
        return [self.answers[number] for number in sorted(self.answers)]

    def delete(self, step: int) -> None:
        """Deletes tokens. Finishes sentences that would return to an earlier state."""
        lines, policy, arrays = self.lines, self.policy, self.arrays
        for line in lines:
            line.cells, line.counts = line.left, []
        state = self.state(lines)
        features = policy.features("deletion", state)
        self.count(lines, state, features)
        logits = policy.head_logits("deletion", features[policy.exits["deletion"]], state)
        logs, inner = arrays.log_softmax(logits), self.symbols.inner(state.tokens)
        gone = inner & (arrays.xp.exp(logs[..., DELETE]) > self.options.delete_threshold)
        sides = logs[..., KEEP] * inner, gone, (logs[..., DELETE] * gone).sum(1)
        for line, keep, flags, loss in zip(lines, *(side.tolist() for side in sides)):
            line.cells = line.left = [
                (token, place, score if place < 0 else kept, flag)
                for (token, place, score, _), kept, flag in zip(line.left, keep, flags)
            ]
            if any(flags):
                line.left, line.counts = remaining(line.cells), []
            tokens = [cell[0] for cell in line.left]
            if tokens in line.seen:
                is_settled = tokens == line.seen[-1] and not any(flags)
                line.left = line.cells
                self.finish(line, step, "unchanged" if is_settled else "loop")
            line.seen.append(tokens)
            line.actions += loss

    def insert(self, step: int) -> None:
        """Inserts placeholders. Finishes sentences with nothing to delete and nothing to insert."""
        unread = [line for line in self.lines if not line.counts]
        if unread:
            state = self.state(unread)
            self.count(unread, state, self.policy.features("placeholder", state))
        for line in self.lines:
            cells, counts, is_whole = line.cells, line.counts, line.left is line.cells
            room = self.caps[line.number] - len(line.left)
            if any(counts) and room > 0:
                slots, line.cells = iter([0, *counts]), []
                for cell in cells:  # in a slot what was deleted is first
                    count = 0 if cell[3] else min(next(slots), room)
                    room -= count
                    line.cells += [(self.symbols.placeholder, -1, 0.0, False)] * count
                    line.cells.append(cell)
                line.left = line.cells if is_whole else remaining(line.cells)
            elif is_whole:
                self.finish(line, step, "unchanged")

    def fill(self, step: int) -> None:
        """Replaces placeholders by tokens."""
        placeholder = self.symbols.placeholder
        lines = [line for line in self.lines if any(cell[0] == placeholder for cell in line.left)]
        if not lines:
            return
        state = self.state(lines)
        state.where = state.tokens == placeholder
        state.places = self.arrays.flatnonzero(state.where, None)
        assert self.policy.best_tokens is not None
        tokens, scores = self.policy.best_tokens(state)
        written = zip(tokens.tolist(), scores.tolist())
        for line in lines:
            for place, cell in enumerate(line.left):
                if cell[0] == placeholder:
                    token, score = next(written)
                    line.left[place] = token, -1, score, False
                    line.actions += score

    def count(self, lines: list[Line], state: EditState, features: Mapping[Any, Array]) -> None:
        """Notes how many tokens are missing in each slot (Eq. 4), if the features tell."""
        exit = self.policy.exits["placeholder"]
        if exit in features:
            logits = self.policy.head_logits("placeholder", features[exit], state)
            for line, counts in zip(lines, logits.argmax(-1).tolist()):
                line.counts = counts[: len(line.left) - 1]

    def state(self, lines: list[Line]) -> EditState:
        """Returns sentences as a policy reads them."""
        encoder_out, trace = self.encoder_out, None
        if len(lines) < len(self.source):
            encoder_out = encoder_out.select(self.array([line.number for line in lines]))
        if self.policy.traces and any(line.left is not line.cells for line in lines):
            cells = [line.cells for line in lines]
            gone = self.stack(cells, 3, False)
            trace = Trace(self.stack(cells, 0, self.symbols.pad), gone, self.arrays)
        tokens = self.stack([line.left for line in lines], 0, self.symbols.pad)
        return EditState(tokens, encoder_out, trace)

    def stack(self, rows: list[Any], side: int, fill: int) -> Array:
        """Returns one of the four of the cells of each row, padded on the right."""
        width = max(map(len, rows))
        return self.array(
            [[cell[side] for cell in cells] + [fill] * (width - len(cells)) for cells in rows]
        )

    def array(self, numbers: list[Any]) -> Array:
        """Returns an array where the policy computes."""
        return self.arrays.as_tensor(numbers, self.source)

    def finish(self, line: Line, steps: int, reason: Termination) -> None:
        """Notes the hypothesis of a sentence."""
        tokens, origin, scores, _ = ([*side] for side in zip(*line.left))
        rated = self.arrays.float32(self.array(scores))
        sides = self.array(tokens), rated, self.array(origin), line.actions
        self.answers[line.number] = hypothesis(*sides, steps, reason)


def remaining(cells: list[Any]) -> list[Any]:
    """Returns the cells that are not deleted."""
    return [cell for cell in cells if not cell[3]]

"""The edits of one sentence by a Levenshtein Transformer: plain data, without torch or fairseq.

Tokens are strings; ``<s>`` and ``</s>`` are left out everywhere.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

Termination = Literal["unchanged", "loop", "max_iterations"]
#: the edit of a token
Mark = Literal["kept", "deleted", "inserted"]
MARKED: dict[Mark, str] = {"kept": "{}", "deleted": "[-{}-]", "inserted": "{{+{}+}}"}


@dataclass(frozen=True)
class Iteration:
    """One pass of Algorithm 2: delete, insert placeholders, fill them.

    before, after: the tokens that enter the iteration, and those that leave it. deleted: of each of
    ``before``, whether it is gone. inserted: of each of ``after``, whether it is new.
    delete_probabilities: of deleting each of ``before``. token_probabilities: of what put or kept
    each of ``after``. Both are empty if unknown, and not compared: the last digits depend on the
    batch.
    """

    before: tuple[str, ...]
    deleted: tuple[bool, ...]
    after: tuple[str, ...]
    inserted: tuple[bool, ...]
    delete_probabilities: tuple[float, ...] = field(default=(), compare=False)
    token_probabilities: tuple[float, ...] = field(default=(), compare=False)

    @property
    def origins(self) -> tuple[int | None, ...]:
        """Returns where each of ``after`` stood in ``before``; None if it is new."""
        kept = iter([place for place, gone in enumerate(self.deleted) if not gone])
        return tuple(None if new else next(kept, None) for new in self.inserted)

    def merged(self) -> list[tuple[Mark, str]]:
        """Returns deletions and insertions in one sequence; in each gap deletions come first."""
        merged: list[tuple[Mark, str]] = []
        old = new = 0
        kept = [(origin, place) for place, origin in enumerate(self.origins) if origin is not None]
        # after the last token that was kept the rest of both
        kept.append((len(self.before), len(self.after)))
        for origin, place in kept:
            merged += [("deleted", token) for token in self.before[old:origin]]
            merged += [("inserted", token) for token in self.after[new:place]]
            merged += [("kept", token) for token in self.after[place : place + 1]]
            old, new = origin + 1, place + 1
        return merged

    def to_dict(self) -> dict[str, Any]:
        """Returns what JSON can hold; probabilities only where they are known."""
        fields = {name: list(values) for name, values in vars(self).items()}
        for name in ("delete_probabilities", "token_probabilities"):
            if not fields[name]:
                del fields[name]
        return fields

    @property
    def changed(self) -> bool:
        """Returns whether something was deleted or inserted, be it to the same tokens again."""
        return any(self.deleted) or any(self.inserted)


@dataclass(frozen=True)
class EditTrace:
    """A sentence, how it was edited, and how the editing ended.

    source, draft: as they were given; None where there was no draft. text: the output, detokenised.
    score: the model's, in nats (a mean, or with n-best a sum). iterations: empty where they were
    not asked for; ``count`` is then how many there were. terminated: ``"unchanged"`` (nothing to
    delete, nothing to insert), ``"loop"`` (an earlier state came back) or ``"max_iterations"``.
    """

    source: str
    draft: str | None
    text: str
    score: float
    iterations: tuple[Iteration, ...]
    terminated: Termination
    count: int = field(default=0, repr=False, compare=False)

    def __str__(self) -> str:
        """Returns the tokens with all edits marked as by wdiff; the output if none were noted."""
        edits = (MARKED[mark].format(token) for mark, token in self.net().merged())
        return " ".join(edits) or self.text

    @property
    def steps(self) -> int:
        """Returns how many iterations changed something: t of Algorithm 2 if it ends by itself."""
        if not self.iterations:
            return self.count
        return sum(iteration.changed for iteration in self.iterations)

    def net(self) -> Iteration:
        """Returns all iterations as one; a token that was deleted and put back later shows as
        both."""
        if not self.iterations:
            return Iteration((), (), (), ())
        before = self.iterations[0].before
        # for each token of the running sequence, its place in ``before``; None if it is newer
        origins: list[int | None] = list(range(len(before)))
        for iteration in self.iterations:
            places = iteration.origins
            origins = [None if place is None else origins[place] for place in places]
        survivors = set(origins)
        deleted = tuple(place not in survivors for place in range(len(before)))
        inserted = tuple(place is None for place in origins)
        after = self.iterations[-1].after
        return Iteration(before, deleted, after, inserted)

    def to_dict(self) -> dict[str, Any]:
        """Returns what JSON can hold."""
        shown = dict(vars(self))
        del shown["count"], shown["iterations"]
        steps = [iteration.to_dict() for iteration in self.iterations]
        return {**shown, "iterations": steps}

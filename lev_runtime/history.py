"""What a Levenshtein Transformer did to one sentence: plain data, without torch or fairseq.

Tokens are strings; ``<s>`` and ``</s>`` are left out everywhere.
"""

from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Literal

from . import html

Termination = Literal["unchanged", "loop", "max_iterations"]
#: What became of a token.
Mark = Literal["kept", "deleted", "inserted"]


@dataclass(frozen=True)
class Iteration:
    """One pass of Algorithm 2: delete, insert placeholders, fill them.

    before, after: the tokens that enter the iteration, and those that leave it. deleted: of each of
    ``before``, whether it was deleted. inserted: of each of ``after``, whether it is new.
    delete_probabilities: of deleting each of ``before``. token_probabilities: of what put or kept
    each of ``after``. Empty if unknown; not compared: the last digits depend on the batch.
    """

    before: tuple[str, ...]
    deleted: tuple[bool, ...]
    after: tuple[str, ...]
    inserted: tuple[bool, ...]
    delete_probabilities: tuple[float, ...] = field(default=(), compare=False)
    token_probabilities: tuple[float, ...] = field(default=(), compare=False)

    def merged(self) -> list[tuple[Mark, str]]:
        """Deletions and insertions in one sequence; in each gap deletions come first."""
        merged: list[tuple[Mark, str]] = []
        marks: list[Mark] = ["inserted" if new else "kept" for new in self.inserted]
        coming = iter(list(zip(marks, self.after, strict=True)))
        for gone, token in zip(self.deleted, self.before, strict=True):
            if gone:
                merged.append(("deleted", token))
                continue
            for mark, new in coming:
                merged.append((mark, new))
                if mark == "kept":
                    break
        return [*merged, *coming]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; probabilities only where they are known."""
        fields = vars(self).items()
        return {name: list(one) for name, one in fields if one or "probabilities" not in name}

    @property
    def changed(self) -> bool:
        """Something was deleted or inserted, be it to come to the same tokens again."""
        return any(self.deleted + self.inserted)


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

    def _repr_html_(self) -> str:
        """For notebooks: the source, the draft with its edits, the output."""
        shown = {"kept": html.text, "deleted": html.deleted, "inserted": html.inserted}
        edits = " ".join(shown[mark](token) for mark, token in self.net().merged())
        count = f"{self.steps} iteration{'' if self.steps == 1 else 's'}, {self.terminated}"
        lines = [("source", html.text(self.source))]
        lines += [("draft", html.text(self.draft))] if self.draft is not None else []
        lines += [("edits", edits)] if self.net().changed else []
        output = f"{html.text(self.text)} {html.small(f'{count}; score {self.score:.4f}')}"
        return html.rows([*lines, ("output", output)])

    @property
    def steps(self) -> int:
        """Number of iterations that changed something: t of Algorithm 2 when it ends by itself."""
        if not self.iterations:
            return self.count
        return sum(iteration.changed for iteration in self.iterations)

    def net(self) -> Iteration:
        """All iterations as one; a token that was deleted and put back later shows as both."""
        if not self.iterations:
            return Iteration((), (), (), ())
        before = self.iterations[0].before
        # For each token of the running sequence, its index in `before`; None if it is newer.
        origin: list[int | None] = list(range(len(before)))
        for iteration in self.iterations:
            kept = compress(origin, (not gone for gone in iteration.deleted))
            origin = [None if new else next(kept) for new in iteration.inserted]
        survivors = set(origin)
        return Iteration(
            before=before,
            deleted=tuple(index not in survivors for index in range(len(before))),
            after=self.iterations[-1].after,
            inserted=tuple(index is None for index in origin),
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        shown = dict(vars(self))
        del shown["count"]
        steps = shown.pop("iterations")
        return {**shown, "iterations": [step.to_dict() for step in steps]}

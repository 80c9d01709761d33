"""What decoding asks of a model: edit policies that read one source.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited, P tokens to be written.
Sequences begin with <s>, end with </s> and are padded on the right.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from .arrays import NUMPY, Array, Arrays
from .traces import Trace

if TYPE_CHECKING:
    from .operations import Operation


@dataclass(frozen=True)
class Facts:
    """What the host knows of sequences, so that no device is waited for to find it out.

    changed: by the name of an operation that has read the sentences, the rows that have changed
    since; None: unknown. slots: how many there are in all. deleted: tokens in the trace, in all.
    places: P, long, of the tokens to be written, in the batch laid flat. writing: the rows that
    have any; None: unknown.
    """

    changed: Mapping[str, tuple[int, ...]] | None = None
    slots: int | None = None
    deleted: int | None = None
    places: Array | None = None
    writing: tuple[int, ...] | None = None


UNKNOWN = Facts()


class EditPolicy:
    """A model that can be decoded with: a policy for each of its edit operations.

    Attributes:
        arrays: what it computes with.
        traces: whether it reads traces; else none are made.
        trace_of: makes a trace of B × T tokens and of those that are deleted.
        operations: what an iteration does, in order; also a class of models that edits has it.
        encode: B × S source tokens → a memory for all; ``memory.select(rows)`` is that of some.
        likeliest: where that costs less than their logits, the likeliest tokens at ``where`` and
            their log-probabilities (P each), of ``tokens, memory, where, trace``; None: it does
            not.
    """

    arrays: Arrays = NUMPY
    traces = False
    trace_of: Callable[..., Trace] = Trace
    operations: "Sequence[Operation]" = ()
    encode: Callable[..., Any]
    likeliest: Callable[..., tuple[Array, Array]] | None = None

    def logits(
        self,
        operation: Any,
        tokens: Array,
        memory: Any,
        where: Array | None = None,
        trace: Any = None,
        facts: Facts = UNKNOWN,
    ) -> Array:
        """What an operation's head says of B × T tokens.

        Logits are of any floating type and in any range; those at padding are ignored. For
        LevT's own they are of keeping (0) and deleting (1) each token, B × T × 2; of the number
        missing in each slot k between tokens k and k + 1, B × (T − 1) × (K + 1); of the symbols at
        ``where``, P × V.

        Args:
            memory: of :attr:`encode`, row for row. It belongs to one decoding: what an operation
                has read of sentences may stay in it.
            where: B × T, bool, P true: where tokens are to be written.
            trace: what was just deleted from the tokens; None where nothing was.
            facts: of the tokens.
        """
        raise NotImplementedError

    def max_positions(self) -> tuple[int, int] | None:
        """The longest source and target, in tokens, to which decoding keeps; None: any."""
        return None

    def eval(self) -> Self:
        """Sets it for decoding, as modules can be."""
        return self

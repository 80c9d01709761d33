"""The edit operations: one file each, and the list of those that there are.

A new operation is a class in a file of its own, decorated by :func:`edit_operation`; from then on
``--edit-operations`` knows its name, and the model, the loss, the loop and histories take it. It
may stand outside this package: in a package that imports lev_plugins, given as ``--user-dir``.

What it has to have: ``name``, ``short``, ``blocks`` and ``stage``; :meth:`~.EditOperation.heads`,
:meth:`~.EditOperation.logits` and :meth:`~.EditOperation.lesson`, to be trained; ``decide``,
``outcome`` and ``act``, to decode; ``rest``, to compare candidates
(:class:`lev_runtime.operations.Operation`).
"""

from collections.abc import Callable

from lev_runtime.errors import UserError
from lev_runtime.operations import Decision

from .base import EditOperation, Lesson, View
from .delete import Delete
from .fill import Fill
from .insert import Insert

#: what ``--edit-operations`` may name
OPERATIONS: dict[str, type[EditOperation]] = {"delete": Delete, "insert": Insert, "fill": Fill}


def edit_operation(name: str) -> Callable[[type[EditOperation]], type[EditOperation]]:
    """Decorates the class of an operation; ``name``: in ``--edit-operations``."""

    def register(operation: type[EditOperation]) -> type[EditOperation]:
        if name in OPERATIONS:
            raise ValueError(f"there is an edit operation {name!r} already")
        OPERATIONS[name] = operation
        return operation

    return register


def edit_operations(
    names: str = "delete,insert,fill", traced: bool = False
) -> tuple[EditOperation, ...]:
    """The operations of an iteration, in order.

    names: as ``--edit-operations`` has them. traced: whether deletion leaves a trace.

    Raises:
        UserError: an unknown name, a name twice, or an order in which they do not work.
    """
    chosen = names.split(",")
    for name in chosen:
        if name not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise UserError(f"--edit-operations {names}: {name!r} is none of {known}")
    operations = tuple(OPERATIONS[name]() for name in chosen)
    stages = [operation.stage for operation in operations]
    revisions = [stage for stage in stages[:-2] if stage == "revise"]
    if stages != [*revisions, "open", "write"] or len(set(chosen)) < len(chosen):
        raise UserError(
            f"--edit-operations {names}: an iteration must end with insert,fill, after the "
            "other operations, each at most once"
        )
    # another revision behind deletion would change tokens that the trace has as they were
    if traced and not isinstance(operations[-3:][0], Delete):
        raise UserError(
            f"--edit-operations {names}: --deletion-trace needs delete right before insert"
        )
    return operations


__all__ = [
    "OPERATIONS",
    "Decision",
    "EditOperation",
    "Lesson",
    "View",
    "edit_operation",
    "edit_operations",
]

"""The symbols of a dictionary and those that a checkpoint was trained with."""

from collections.abc import Sequence

from ..errors import UserError


def difference(there: Sequence[str], here: Sequence[str]) -> tuple[int, str, str] | None:
    """The first symbol that differs between two dictionaries.

    Returns:
        its index, and what stands there on either side, quoted (``missing`` behind the shorter
        end); None where all are equal.
    """
    for index in range(max(len(there), len(here))):
        one, other = (repr(s[index]) if index < len(s) else "missing" for s in (there, here))
        if one != other:
            return index, one, other
    return None


def refuse_other_symbols(what: str, saved: Sequence[str], here: Sequence[str], data: str) -> None:
    """Refuse a checkpoint that was trained with other symbols than these.

    Args:
        what: the dictionary, as in ``another source dictionary``.
        saved: symbols of the checkpoint.
        here: symbols of the dictionary in the folder ``data``.

    Raises:
        UserError: with the first symbol that differs.
    """
    if found := difference(saved, here):
        index, one, other = found
        raise UserError(
            f"the checkpoint was trained with {what} (symbol {index} is {one} there and {other} in "
            f"{data}); give the data folder it was trained with, or preprocess yours with its "
            "--srcdict and --tgtdict"
        )

"""Whether two dictionaries number the same words alike."""

from collections.abc import Sequence


def difference(there: Sequence[str], here: Sequence[str]) -> tuple[int, str, str] | None:
    """The first symbol that differs.

    Returns:
        its index, and what stands there on either side, quoted (``missing`` behind the shorter
        end); None where all are equal.
    """
    for index in range(max(len(there), len(here))):
        one, other = (side[index] if index < len(side) else None for side in (there, here))
        if one != other:
            return index, _shown(one), _shown(other)
    return None


def _shown(symbol: str | None) -> str:
    return "missing" if symbol is None else repr(symbol)

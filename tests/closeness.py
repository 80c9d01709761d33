"""How near two results of single precision have to be, whatever multiplied them.

Every processor, number of threads and size of a batch adds up a product in an order of its own.
Each order rounds its terms and partial sums, to 6e-8 of their size, so what two orders differ by
grows with the largest numbers that took part, not with the one result that is compared. What is
wrong (a mask, a place, a row of another sentence) moves results by hundredths of that size and
more. Where nothing but rounding may differ, tests compute in double precision instead.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from torch import Tensor

#: of the largest number compared: some thousand roundings, a hundredth of the smallest mistake
SHARE = 1e-4


def assert_near(
    actual: "Tensor | Sequence[Tensor]", expected: "Tensor | Sequence[Tensor]", least: float = 1.0
) -> None:
    """Equal but for the order in which single precision was added up.

    Args:
        found, expected: tensors of equal shapes, or as many of them, measured together.
        least: the size of the smallest numbers that took part; 1 is right for logits, for
            log-probabilities and for what layer norms give.
    """
    import torch  # which tests of the core do without

    ours, theirs = (
        [tensors] if torch.is_tensor(tensors) else list(tensors) for tensors in (actual, expected)
    )
    sizes = [float(tensor.detach().abs().max()) for tensor in theirs if tensor.numel()]
    atol = SHARE * max([least, *sizes])
    torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)


def rounded(record: Any) -> Any:
    """A record with numbers that tell no last digits apart."""
    if isinstance(record, dict):
        return {name: rounded(value) for name, value in record.items()}
    if isinstance(record, list):
        return [rounded(value) for value in record]
    return near(record) if isinstance(record, float) else record


def near(expected: Any) -> Any:
    """The same for numbers, log-probabilities and probabilities: ``assert found == near(1.5)``."""
    return pytest.approx(expected, rel=SHARE, abs=SHARE)

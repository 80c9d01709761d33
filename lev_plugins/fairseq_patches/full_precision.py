"""Fault: a checkpoint of ``--bf16`` or ``--fp16`` holds rounded parameters alone."""

from collections.abc import Sequence
from typing import Any

from fairseq.optim.fp16_optimizer import FP16Optimizer
from torch import Tensor

from ..io.patching import Stock, patches

_FP32_PARAMS = "fp32_params"  # in a checkpoint's ``last_optimizer_state``


def _fp32_params(optimizer: FP16Optimizer) -> Sequence[Tensor]:
    params = optimizer.fp32_params  # by device, or a list
    return list(params.values()) if isinstance(params, dict) else params


@patches(FP16Optimizer, "state_dict")
def state_dict(stock: Stock, self: FP16Optimizer) -> dict[str, Any]:
    """fairseq's, with the parameters that the optimizer moves."""
    return {**stock(self), _FP32_PARAMS: [param.data for param in _fp32_params(self)]}


@patches(FP16Optimizer, "load_state_dict")
def load_state_dict(
    stock: Stock, self: FP16Optimizer, state_dict: dict[str, Any], *more: Any, **options: Any
) -> None:
    """fairseq's; the parameters go on where they were."""
    state = dict(state_dict)
    saved_params = state.pop(_FP32_PARAMS, ())
    stock(self, state, *more, **options)
    for param, saved in zip(_fp32_params(self), saved_params):
        param.data.copy_(saved)

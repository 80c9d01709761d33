"""Fault: with ``--fp16`` and ``--bf16`` each parameter and each gradient is copied by itself."""

from typing import Any, NamedTuple

import torch
from fairseq.optim.fp16_optimizer import _FP16OptimizerMixin
from torch import Tensor
from torch._utils import _unflatten_dense_tensors

from ..io.patching import Stock, patches


class _Copies(NamedTuple):
    """Parameters in half precision, and their values and gradients in single."""

    params: list[Any]
    values: list[Tensor]
    grads: list[Tensor]


def _copies(optimizer: Any) -> _Copies:
    if not optimizer.has_flat_params:
        pairs = zip(optimizer.fp16_params, optimizer.fp32_params)
        trained = [(p, single) for p, single in pairs if p.requires_grad]
        params = [p for p, _ in trained]
        return _Copies(params, [s.detach() for _, s in trained], [s.grad for _, s in trained])
    copies = _Copies([], [], [])
    for device, flat in optimizer.fp32_params.items():
        params = [p for p in optimizer.fp16_params if p.device.index == device]
        copies.params.extend(params)
        copies.values.extend(_unflatten_dense_tensors(flat.detach(), params))
        copies.grads.extend(_unflatten_dense_tensors(flat.grad, params))
    return copies


@patches(_FP16OptimizerMixin, "_sync_fp16_grads_to_fp32")
def sync_grads(stock: Stock, self: Any) -> None:
    """fairseq's, all gradients by one kernel."""
    if self._needs_sync:
        copies = _copies(self)
        pairs = list(zip(copies.params, copies.grads))
        unused = [single for p, single in pairs if p.grad is None]
        used = [single for p, single in pairs if p.grad is not None]
        if unused:
            torch._foreach_zero_(unused)
        if used:
            grads = [p.grad.detach() for p in copies.params if p.grad is not None]
            torch._foreach_copy_(used, grads)
    self._needs_sync = False


@patches(_FP16OptimizerMixin, "_sync_fp32_params_to_fp16")
@torch.no_grad()
def sync_params(stock: Stock, self: Any) -> None:
    """fairseq's, all parameters by one kernel."""
    copies = _copies(self)
    if copies.params:
        torch._foreach_copy_([p.detach() for p in copies.params], copies.values)

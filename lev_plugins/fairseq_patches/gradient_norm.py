"""Fault: gradients are scaled and clipped by a kernel for each, between which the host waits."""

from typing import Any

import torch
from fairseq import utils
from fairseq.optim import FairseqOptimizer
from torch import Tensor

from ..io.patching import Stock, patches
from .devices import are_on_one_accelerator


@patches(utils, "clip_grad_norm_")
def clip_grad_norm_(
    stock: Stock, params: Any, max_norm: float, aggregate_norm_fn: Any = None
) -> Any:
    """fairseq's clipping of gradients; on a GPU few kernels, and the norm is fetched, once."""
    params = [params] if isinstance(params, Tensor) else list(params)
    trained = [p for p in params if p is not None and p.grad is not None]
    grads = [p.grad.detach() for p in trained]
    counted = [p.grad.detach() for p in trained if not hasattr(p, "expert")]
    if not counted or not are_on_one_accelerator(grads):
        return stock(params, max_norm, aggregate_norm_fn)
    norms = torch._foreach_norm(counted, 2, dtype=torch.float32)
    norm = norms[0] if len(norms) == 1 else torch.stack(norms).norm()
    if aggregate_norm_fn is not None:
        norm = aggregate_norm_fn(norm)
    if max_norm > 0:
        scale = float(max_norm) / (norm + 1e-6)
        torch._foreach_mul_(grads, scale.clamp_(max=1))
    return norm.cpu()


@patches(FairseqOptimizer, "multiply_grads")
def multiply_grads(stock: Stock, self: FairseqOptimizer, factor: Any) -> None:
    """fairseq's; a number on the host is not sent to the device, which would be waited for."""
    if isinstance(factor, Tensor) and factor.device.type == "cpu":
        factor = factor.item()
    stock(self, factor)

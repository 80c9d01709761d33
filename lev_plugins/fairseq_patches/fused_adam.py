"""Fault: fairseq's Adam starts a dozen kernels for each parameter, which keep a GPU waiting."""

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from fairseq.optim.adam import Adam
from torch import Tensor

from ..io.patching import Stock, patches
from .devices import are_on_one_accelerator


@patches(Adam, "step")
@torch.no_grad()
def step(stock: Stock, self: Any, closure: Callable[[], Any] | None = None) -> Any:
    """fairseq's update, by one kernel for all parameters that lie on a GPU in single precision.

    State and checkpoints are fairseq's; the rest is stepped by fairseq itself.
    """
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    groups = self.param_groups
    self.param_groups = [{**group, "params": _step_together(self.state, group)} for group in groups]
    try:
        stock(self)
    finally:
        self.param_groups = groups
    return loss


def _can_be_fused(p: Tensor, group: dict[str, Any]) -> bool:
    if p.grad is None or group.get("amsgrad"):
        return False
    return p.dtype == p.grad.dtype == torch.float32 and are_on_one_accelerator([p, p.grad])


def _step_together(states: Any, group: dict[str, Any]) -> list[Tensor]:
    """Steps the parameters that one kernel can change; returns the others."""
    by_step: dict[tuple[torch.device, int], list[Tensor]] = defaultdict(list)
    others = []
    for p in group["params"]:
        if not _can_be_fused(p, group):
            others.append(p)
            continue
        state = states[p]
        if not state:
            state.update(step=0, exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
        for name in ("exp_avg", "exp_avg_sq"):  # a checkpoint's may be of another type
            state[name] = state[name].to(p)
        state["step"] += 1
        by_step[p.device, state["step"]].append(p)
    first_beta, second_beta = group["betas"]
    for (device, number), params in by_step.items():
        torch._fused_adamw_(
            params,
            [p.grad for p in params if p.grad is not None],
            [states[p]["exp_avg"] for p in params],
            [states[p]["exp_avg_sq"] for p in params],
            [],
            [torch.full((), float(number), device=device)] * len(params),
            lr=group["lr"],
            beta1=first_beta,
            beta2=second_beta,
            weight_decay=group["weight_decay"],
            # torch adds ε to the root after its correction, fairseq before
            eps=group["eps"] / math.sqrt(1 - second_beta**number),
            amsgrad=False,
            maximize=False,
        )
    return others

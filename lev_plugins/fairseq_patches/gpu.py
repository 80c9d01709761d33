"""What fairseq and torch leave undone where a GPU computes: few kernels, and no waiting for them.

fairseq starts kernels for each parameter by itself and asks the device for a dozen numbers an
update. Here all parameters are changed by one, and one number is asked for, whether the gradient
is finite; what is logged is read when somebody wants to see it. The numbers are the same.
"""

import logging
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from fairseq import utils
from fairseq.logging import metrics
from fairseq.optim import FairseqOptimizer
from fairseq.optim.adam import Adam
from fairseq.optim.fp16_optimizer import _FP16OptimizerMixin
from fairseq.trainer import Trainer
from torch import Tensor

from ..io.patching import Stock, patches

logger = logging.getLogger(__name__)

#: 1 in this variable of the environment: single precision is multiplied as TF32
SWITCH = "LEV_PLUGINS_TF32"
#: variables by which torch and cuBLAS are told the same
_TOLD = ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "NVIDIA_TF32_OVERRIDE")
#: updates whose logs wait to be read at most
MOST_WAITING = 1000


def _computes_apart(tensors: Iterable[Tensor]) -> bool:
    """Whether all lie on one device that is no CPU, nor one that fairseq has a way of its own for.

    Sparse gradients are left to fairseq, which refuses them.
    """
    kinds = {(one.device, one.layout) for one in tensors}
    device, layout = kinds.pop() if len(kinds) == 1 else (torch.device("cpu"), torch.strided)
    return device.type not in ("cpu", "xla") and layout == torch.strided


# the optimizer ------------------------------------------------------------------------------------


@patches(Adam, "step")
@torch.no_grad()
def step(stock: Stock, self: Any, closure: Callable[[], Any] | None = None) -> Any:
    """fairseq's update, by one kernel for all parameters that lie on a GPU in single precision.

    State and checkpoints are fairseq's; the rest is stepped by fairseq itself.
    """
    groups, left = self.param_groups, []
    with torch.enable_grad():
        loss = None if closure is None else closure()
    for group in groups:
        learnt = [p for p in group["params"] if p.grad is not None]
        together = [p for p in learnt if _fits(p)] if not group.get("amsgrad") else []
        _step_together(self.state, together, group)
        stepped = set(map(id, together))
        left.append({**group, "params": [p for p in learnt if id(p) not in stepped]})
    try:
        self.param_groups = left
        stock(self)
    finally:
        self.param_groups = groups
    return loss


def _fits(p: Tensor) -> bool:
    assert p.grad is not None
    single = p.dtype == p.grad.dtype == torch.float32
    return single and _computes_apart([p, p.grad])


def _step_together(states: Any, params: Sequence[Tensor], group: dict[str, Any]) -> None:
    alike: dict[tuple[torch.device, int], list[Tensor]] = defaultdict(list)
    for p in params:
        if not (state := states[p]):
            state.update(step=0, exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
        for name in ("exp_avg", "exp_avg_sq"):
            state[name] = state[name].to(p)
        state["step"] += 1
        alike[p.device, state["step"]].append(p)
    first, second = group["betas"]
    for (device, number), some in alike.items():
        # torch adds ε to the root after its correction, fairseq before
        eps = group["eps"] / math.sqrt(1 - second**number)
        torch._fused_adamw_(
            some,
            [p.grad for p in some if p.grad is not None],
            [states[p]["exp_avg"] for p in some],
            [states[p]["exp_avg_sq"] for p in some],
            [],
            [torch.full((), float(number), device=device)] * len(some),
            lr=group["lr"],
            beta1=first,
            beta2=second,
            weight_decay=group["weight_decay"],
            eps=eps,
            amsgrad=False,
            maximize=False,
        )


@patches(utils, "clip_grad_norm_")
def clip_grad_norm_(
    stock: Stock, params: Any, max_norm: float, aggregate_norm_fn: Any = None
) -> Tensor:
    """fairseq's clipping of gradients; on a GPU few kernels, and the norm is fetched, once."""
    params = [params] if isinstance(params, Tensor) else list(params)
    learnt = [p for p in params if p is not None and p.grad is not None]
    grads = [p.grad.detach() for p in learnt]
    counted = [grad for p, grad in zip(learnt, grads) if not hasattr(p, "expert")]
    if not counted or not _computes_apart(grads):
        return stock(params, max_norm, aggregate_norm_fn)  # type: ignore[no-any-return]
    norms = torch._foreach_norm(counted, 2, dtype=torch.float32)
    norm = norms[0] if len(norms) == 1 else torch.stack(norms).norm()
    norm = norm if aggregate_norm_fn is None else aggregate_norm_fn(norm)
    if max_norm > 0:
        torch._foreach_mul_(grads, (float(max_norm) / (norm + 1e-6)).clamp_(max=1))
    return norm.cpu()


@patches(FairseqOptimizer, "multiply_grads")
def multiply_grads(stock: Stock, self: Any, factor: Any) -> None:
    """fairseq's; a number on the host is not sent to the device, which would be waited for."""
    on_host = isinstance(factor, Tensor) and factor.device.type == "cpu"
    stock(self, factor.item() if on_host else factor)


# half precision, with parameters in single precision beside it ------------------------------------


@patches(_FP16OptimizerMixin, "_sync_fp16_grads_to_fp32")
def sync_grads(stock: Stock, self: Any) -> None:
    """fairseq's, all gradients by one kernel."""
    if self._needs_sync:
        pairs = [pair for pair in _halves(self, grads=True) if pair[0].requires_grad]
        missing = [single for p, single in pairs if p.grad is None]
        learnt = [single for p, single in pairs if p.grad is not None]
        if missing:
            torch._foreach_zero_(missing)
        if learnt:
            grads = [p.grad.detach() for p, _ in pairs if p.grad is not None]
            torch._foreach_copy_(learnt, grads)
    self._needs_sync = False


@patches(_FP16OptimizerMixin, "_sync_fp32_params_to_fp16")
@torch.no_grad()
def sync_params(stock: Stock, self: Any) -> None:
    """fairseq's, all parameters by one kernel."""
    flat = self.has_flat_params
    pairs = [pair for pair in _halves(self, grads=False) if flat or pair[0].requires_grad]
    if pairs:
        torch._foreach_copy_([p.detach() for p, _ in pairs], [single for _, single in pairs])


def _halves(optimizer: Any, grads: bool) -> list[tuple[Any, Tensor]]:
    """The parameters in half precision, each with its values, or gradients, in single."""

    def values(p: Any) -> Tensor:
        if not grads:
            return p.detach()  # type: ignore[no-any-return]
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        return p.grad  # type: ignore[no-any-return]

    if not optimizer.has_flat_params:
        return [(p, values(p32)) for p, p32 in zip(optimizer.fp16_params, optimizer.fp32_params)]
    pairs: list[tuple[Any, Tensor]] = []
    for device, single in optimizer.fp32_params.items():
        here = [p for p in optimizer.fp16_params if p.device.index == device]
        here = [p for p in here if p.requires_grad or not grads]
        parts = values(single)[: sum(p.numel() for p in here)].split([p.numel() for p in here])
        pairs += [(p, part.view_as(p)) for p, part in zip(here, parts)]
    return pairs


# what is logged -----------------------------------------------------------------------------------


class _Update(NamedTuple):
    """What an update has to log: to which meters, and what ``log`` is called with."""

    meters: dict[str, Any]
    log: Stock
    trainer: Any
    logs: list[dict[str, Any]]
    more: tuple[Any, ...]


_waiting: list[_Update] = []


@patches(Trainer, "_reduce_and_log_stats")
def reduce_and_log_stats(
    stock: Stock, self: Any, logs: list[dict[str, Any]], size: Any, grad_norm: Any = None
) -> Any:
    """fairseq's; what a GPU has computed in training is fetched when somebody reads a meter.

    The first update makes the meters, whose clocks begin then: it is logged at once.
    """
    meters = dict(metrics._active_aggregators)
    known = all("ups" in one for one in meters.values())
    if self.cuda and grad_norm is not None and known and len(_waiting) < MOST_WAITING:
        _waiting.append(_Update(meters, stock, self, logs, (size, grad_norm)))
        return {}
    log_waiting()
    return stock(self, _on_host(logs) if self.cuda else logs, size, grad_norm)


def _on_host(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, the numbers that a GPU holds on the CPU; all of a type are fetched together."""

    def is_apart(value: Any) -> bool:
        return isinstance(value, Tensor) and value.device.type != "cpu" and value.numel() == 1

    apart: dict[Any, list[Tensor]] = defaultdict(list)
    for value in (one for log in logs for one in log.values() if is_apart(one)):
        apart[value.device, value.dtype].append(value.detach().reshape(()))
    fetched = {kind: iter(torch.stack(some).cpu().unbind()) for kind, some in apart.items()}
    return [
        {
            name: next(fetched[value.device, value.dtype]) if is_apart(value) else value
            for name, value in log.items()
        }
        for log in logs
    ]


def log_waiting() -> None:
    """Logs what updates have left to be logged, to the meters that were written to then."""
    if not _waiting:
        return
    updates = _waiting[:]
    _waiting.clear()
    logs = iter(_on_host([log for update in updates for log in update.logs]))
    now = metrics._active_aggregators.copy()
    try:
        for update in updates:
            metrics._active_aggregators.clear()
            metrics._active_aggregators.update(update.meters)
            own = [next(logs) for _ in update.logs]
            update.log(update.trainer, own, *update.more)
    finally:
        metrics._active_aggregators.clear()
        metrics._active_aggregators.update(now)


def _logs_before(name: str) -> None:
    @patches(metrics, name)
    def read(stock: Stock, *args: object, **options: object) -> Any:
        log_waiting()
        return stock(*args, **options)


for _name in (
    "get_meter",
    "get_meters",
    "get_smoothed_value",
    "get_smoothed_values",
    "state_dict",
    "load_state_dict",
):
    _logs_before(_name)


@patches(metrics, "reset")
def reset(stock: Stock) -> None:
    """fairseq's: meters that are gone are written to no more."""
    _waiting.clear()
    stock()


# single precision ---------------------------------------------------------------------------------


@patches(Trainer, "__init__")
def begin(stock: Stock, self: Any, *args: Any, **options: Any) -> None:
    """Chooses how single precision is multiplied."""
    stock(self, *args, **options)
    if self.cuda and may_use_tf32():
        choose_precision()


def choose_precision() -> None:
    """Multiplies single precision as TF32 where that is asked for, and else tells of it."""
    if os.environ.get(SWITCH) == "1":
        torch.set_float32_matmul_precision("high")
        logger.info("matrices of single precision are multiplied as TF32")
    else:
        logger.info(f"{SWITCH}=1 multiplies single precision as TF32, which is faster on this GPU")


def may_use_tf32() -> bool:
    """Whether the GPU has TF32, and torch was told nothing of it.

    TF32 keeps 10 bits of the factors' 23 and adds in single precision, several times as fast.
    """
    matmul = torch.backends.cuda.matmul
    # "none" by default, where torch has it
    if getattr(matmul, "fp32_precision", "none") != "none" or any(map(os.getenv, _TOLD)):
        return False
    if torch.get_float32_matmul_precision() != "highest":
        return False
    return torch.cuda.get_device_capability() >= (8, 0)

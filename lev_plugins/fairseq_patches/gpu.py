"""Trains on a GPU with fewer kernels and waits; numbers, states and checkpoints are fairseq's.

Faults: Adam starts a dozen kernels for each parameter; gradients are scaled, clipped and copied one
by one, and the host waits between; a dozen numbers are fetched after each update, to log them; a
checkpoint of ``--bf16`` or ``--fp16`` holds rounded parameters alone.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from fairseq import utils
from fairseq.logging import metrics
from fairseq.optim import FairseqOptimizer
from fairseq.optim.adam import Adam
from fairseq.optim.fp16_optimizer import FP16Optimizer, _FP16OptimizerMixin
from fairseq.trainer import Trainer
from torch import Tensor
from torch._utils import _unflatten_dense_tensors

from ..io.patching import Stock, patches

# where tensors are --------------------------------------------------------------------------------


def are_on_one_accelerator(tensors: Iterable[Tensor]) -> bool:
    """Returns whether all lie on one device that is no CPU and has no code of its own in fairseq.

    Sparse gradients are left to fairseq, which refuses them.
    """
    places = {(tensor.device, tensor.layout) for tensor in tensors}
    if len(places) != 1:
        return False
    device, layout = places.pop()
    return device.type not in ("cpu", "xla") and layout == torch.strided


# Adam ---------------------------------------------------------------------------------------------


@patches(Adam, "step")
@torch.no_grad()
def step(stock: Stock, self: Any, closure: Callable[[], Any] | None = None) -> Any:
    """Updates by one kernel all parameters that lie on a GPU in single precision.

    State and checkpoints are fairseq's; the rest is stepped by fairseq itself.
    """
    if closure is not None:  # fairseq's trainer has none
        with torch.enable_grad():
            return stock(self, closure)
    groups = self.param_groups
    self.param_groups = [{**group, "params": _step_together(self.state, group)} for group in groups]
    try:
        stock(self)
    finally:
        self.param_groups = groups


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


# gradients ----------------------------------------------------------------------------------------


@patches(utils, "clip_grad_norm_")
def clip_grad_norm_(
    stock: Stock, params: Any, max_norm: float, aggregate_norm_fn: Any = None
) -> Any:
    """Clips gradients; on a GPU by few kernels, and the norm is fetched, once."""
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
    """Scales gradients; sends no number to the device, which would be waited for."""
    if isinstance(factor, Tensor) and factor.device.type == "cpu":
        factor = factor.item()
    stock(self, factor)


# half precision -----------------------------------------------------------------------------------


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
    """Copies all gradients by one kernel."""
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
    """Copies all parameters by one kernel."""
    copies = _copies(self)
    if copies.params:
        torch._foreach_copy_([p.detach() for p in copies.params], copies.values)


# checkpoints of half precision --------------------------------------------------------------------


_FP32_PARAMS = "fp32_params"  # in a checkpoint's ``last_optimizer_state``


def _fp32_params(optimizer: FP16Optimizer) -> Sequence[Tensor]:
    params = optimizer.fp32_params  # by device, or a list
    return list(params.values()) if isinstance(params, dict) else params


@patches(FP16Optimizer, "state_dict")
def state_dict(stock: Stock, self: FP16Optimizer) -> dict[str, Any]:
    """Saves the parameters that the optimizer moves, too."""
    return {**stock(self), _FP32_PARAMS: [param.data for param in _fp32_params(self)]}


@patches(FP16Optimizer, "load_state_dict")
def load_state_dict(
    stock: Stock, self: FP16Optimizer, state_dict: dict[str, Any], *more: Any, **options: Any
) -> None:
    """Loads the parameters that the optimizer moves, too."""
    state = dict(state_dict)
    saved_params = state.pop(_FP32_PARAMS, ())
    stock(self, state, *more, **options)
    for param, saved in zip(_fp32_params(self), saved_params):
        param.data.copy_(saved)


# logs ---------------------------------------------------------------------------------------------


MAX_WAITING = 1000  # updates whose logs wait
Logs = list[dict[str, Any]]


class _Update(NamedTuple):
    """An update's logs: to which meters, and what ``log`` is called with."""

    meters: dict[str, Any]
    log: Stock
    trainer: Any
    logs: Logs
    norms: tuple[Any, ...]


_waiting: list[_Update] = []


@patches(Trainer, "_reduce_and_log_stats")
def reduce_and_log_stats(
    stock: Stock, self: Any, logs: Logs, size: Any, grad_norm: Any = None
) -> Any:
    """Logs an update; of a training on a GPU later.

    The first update makes the meters, whose clocks begin then: it is logged at once.
    """
    meters = dict(metrics._active_aggregators)
    is_first = not all("ups" in aggregator for aggregator in meters.values())
    is_update = self.cuda and grad_norm is not None
    if is_update and not is_first and len(_waiting) < MAX_WAITING:
        _waiting.append(_Update(meters, stock, self, logs, (size, grad_norm)))
        return {}
    log_waiting()
    return stock(self, _fetched(logs) if self.cuda else logs, size, grad_norm)


def _is_apart(value: Any) -> bool:
    """Returns whether it is a number that a GPU holds."""
    return isinstance(value, Tensor) and value.device.type != "cpu" and value.numel() == 1


def _fetched(logs: Logs) -> Logs:
    """Returns the logs with all numbers on the CPU; those of a type are fetched together."""
    apart: dict[Any, list[Tensor]] = defaultdict(list)
    for log in logs:
        for value in filter(_is_apart, log.values()):
            number = value.detach().reshape(())
            apart[value.device, value.dtype].append(number)
    numbers: dict[Any, Iterator[Tensor]] = {}
    for kind, values in apart.items():
        numbers[kind] = iter(torch.stack(values).cpu())

    def on_host(value: Any) -> Any:
        return next(numbers[value.device, value.dtype]) if _is_apart(value) else value

    return [{name: on_host(value) for name, value in log.items()} for log in logs]


def log_waiting() -> None:
    """Logs what updates have left to be logged, to the meters that were written to then."""
    updates = _waiting[:]
    _waiting.clear()
    if not updates:
        return
    logs = iter(_fetched([log for update in updates for log in update.logs]))
    active = metrics._active_aggregators
    meters_now = active.copy()
    try:
        for update in updates:
            _replace(active, update.meters)
            update.log(update.trainer, [next(logs) for _ in update.logs], *update.norms)
    finally:
        _replace(active, meters_now)


def _replace(active: dict[str, Any], meters: dict[str, Any]) -> None:
    active.clear()
    active.update(meters)


def _read(stock: Stock, *args: object, **options: object) -> Any:
    log_waiting()
    return stock(*args, **options)


READERS: Sequence[str] = (
    "get_meter",
    "get_meters",
    "get_smoothed_value",
    "get_smoothed_values",
    "state_dict",
    "load_state_dict",
)
for _name in READERS:
    patches(metrics, _name)(_read)


@patches(metrics, "reset")
def reset(stock: Stock) -> None:
    """Forgets the logs of meters that are gone."""
    _waiting.clear()
    stock()

"""Optimizers of fairseq's: exact after a break, and Adafactor's learning rate."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..io.patching import Stock, patches

_MASTERS = "fp32_params"  # in a checkpoint's ``last_optimizer_state``


def keep_masters() -> None:
    """Let a training with ``--bf16`` or ``--fp16`` resume as if it had never stopped.

    Fault: the parameters that the optimizer moves are of single precision, and a checkpoint holds
    the model's, which are rounded.
    """
    from fairseq.optim.fp16_optimizer import FP16Optimizer

    def masters(optimizer: Any) -> Sequence[Tensor]:
        found = optimizer.fp32_params  # one for each device, or each parameter
        return list(found.values()) if isinstance(found, dict) else found

    @patches(FP16Optimizer, "state_dict")
    def state_dict(stock: Stock, self: Any) -> dict[str, Any]:
        """fairseq's, and the parameters."""
        return {**stock(self), _MASTERS: [one.data for one in masters(self)]}

    @patches(FP16Optimizer, "load_state_dict")
    def load_state_dict(
        stock: Stock, self: Any, state_dict: dict[str, Any], *more: Any, **named: Any
    ) -> None:
        """fairseq's; the model's parameters are these, rounded."""
        rest = {name: one for name, one in state_dict.items() if name != _MASTERS}
        stock(self, rest, *more, **named)
        for one, saved in zip(masters(self), state_dict.get(_MASTERS, ())):
            one.data.copy_(saved)


def patch_adafactor() -> None:
    """Lets ``--optimizer adafactor --scale-parameter`` scale each tensor's own learning rate.

    Fault: a step leaves the learning rate of a tensor, scaled by its size, in its group and takes
    it from there for the next one, so that the sizes of all tensors so far are multiplied. T5X's
    recipe (a constant 0.001, scaled by parameter size) could not be had.
    """
    from fairseq.optim.adafactor import Adafactor

    @patches(Adafactor, "_get_lr")
    def get_lr(stock: Stock, self: Any, param_group: dict[str, Any], param_state: Any) -> object:
        """A tensor's learning rate, of the one that the scheduler has set."""
        given = param_group.get("given_lr", param_group["lr"])
        return stock(self, {**param_group, "lr": given}, param_state)

    @patches(Adafactor, "step")
    def step(stock: Stock, self: Any, closure: Any = None) -> object:
        """fairseq's step, after which each group has the learning rate that it was given."""
        given = [group for group in self.param_groups if not group["relative_step"]]
        for group in given:
            group["given_lr"] = group["lr"]
        try:
            return stock(self, closure)
        finally:
            for group in given:
                group["lr"] = group.pop("given_lr")

"""The learning rate of fairseq's Adafactor."""

from collections.abc import Callable
from typing import Any

from ..io.patching import Stock, patches


def patch_adafactor() -> None:
    """Lets ``--optimizer adafactor --scale-parameter`` scale each tensor's own learning rate.

    Fault: a step puts the learning rate of a tensor, scaled by its size, into its group, and
    takes it from there for the next one, so the sizes of all tensors so far are multiplied. T5X's
    recipe (a constant 0.001, scaled by parameter size) could not be had.
    """
    from fairseq.optim.adafactor import Adafactor

    @patches(Adafactor, "_get_lr")
    def get_lr(stock: Stock, self: Adafactor, param_group: Any, param_state: Any) -> object:
        """A tensor's learning rate, of the one that the scheduler has set."""
        given = param_group.get("given_lr", param_group["lr"])
        return stock(self, {**param_group, "lr": given}, param_state)

    @patches(Adafactor, "step")
    def step(stock: Stock, self: Adafactor, closure: Callable[[], float] | None = None) -> object:
        """fairseq's step, after which each group has the learning rate that it was given."""
        given = [group for group in self.param_groups if not group["relative_step"]]
        for group in given:
            group["given_lr"] = group["lr"]
        try:
            return stock(self, closure)
        finally:
            for group in given:
                group["lr"] = group.pop("given_lr")

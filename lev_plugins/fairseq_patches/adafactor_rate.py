"""Fault: fairseq's Adafactor leaves the rate of a tensor, scaled by its size, for the next one."""

from typing import Any

from fairseq.optim.adafactor import Adafactor

from ..io.patching import Stock, patches


@patches(Adafactor, "step")
def step(stock: Stock, self: Any, closure: Any = None) -> object:
    """fairseq's step, with a group for each tensor."""
    groups = self.param_groups
    self.param_groups = [{**group, "params": [p]} for group in groups for p in group["params"]]
    try:
        return stock(self, closure)
    finally:
        self.param_groups = groups

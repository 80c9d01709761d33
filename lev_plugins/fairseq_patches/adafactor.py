"""The learning rate of fairseq's Adafactor."""

from collections.abc import Callable

from ..io.patching import Stock, patches

_GIVEN = "given_lr"


def patch_adafactor() -> None:
    """Let ``--optimizer adafactor --scale-parameter`` scale each tensor's own learning rate.

    Fault: a step puts the learning rate of a tensor, scaled by its size, into its group, and
    takes it from there for the next one. Without ``--relative-step`` the sizes of all tensors so
    far are multiplied: of four tensors of size 0.1 the last one moves by a thousandth of what the
    first does, and a model of a hundred tensors learns in the first few alone. T5X's recipe (a
    constant 0.001, scaled by parameter size) could not be had.
    """
    from fairseq.optim.adafactor import Adafactor

    @patches(Adafactor, "_get_lr")
    def get_lr(
        stock: Stock,
        self: Adafactor,
        param_group: dict[str, object],
        param_state: dict[str, object],
    ) -> object:
        """A tensor's learning rate, of the one that the scheduler has set."""
        return stock(
            self, {**param_group, "lr": param_group.get(_GIVEN, param_group["lr"])}, param_state
        )

    @patches(Adafactor, "step")
    def step(stock: Stock, self: Adafactor, closure: Callable[[], float] | None = None) -> object:
        """fairseq's step, after which each group has the learning rate that it was given."""
        given = [group for group in self.param_groups if not group["relative_step"]]
        for group in given:
            group[_GIVEN] = group["lr"]
        try:
            return stock(self, closure)
        finally:
            for group in given:
                group["lr"] = group.pop(_GIVEN)

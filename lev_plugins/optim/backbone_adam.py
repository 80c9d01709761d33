"""fairseq's Adam with a smaller learning rate for what was pre-trained."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairseq.optim import register_optimizer
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig
from torch import nn

from lev_runtime.errors import UserError

from ..options import SHARE, option

BACKBONE = "backbone"  # the parameters' param_group, which fairseq carries over to fp32 copies


def mark_backbone(parameters: Iterable[nn.Parameter]) -> None:
    """Marks parameters that were pre-trained."""
    for parameter in parameters:
        parameter.param_group = BACKBONE  # type: ignore[attr-defined]


@dataclass
class BackboneAdamConfig(FairseqAdamConfig):
    backbone_lr_ratio: float = option(
        0.1,
        "learning rate of pre-trained parameters, as a multiple of --lr (which new "
        "parameters use); 0 freezes them",
        within=SHARE,
    )


@register_optimizer("backbone_adam", dataclass=BackboneAdamConfig)
class BackboneAdam(FairseqAdam):
    """Adam in two groups: new parameters and those marked by :func:`mark_backbone`.

    fairseq's schedulers set one learning rate for all groups; here each group scales it.

    Raises:
        UserError: nothing is marked.
    """

    def __init__(self, cfg: BackboneAdamConfig, params: list[nn.Parameter]) -> None:
        loaded = [p for p in params if getattr(p, "param_group", None) == BACKBONE]
        if not loaded:
            raise UserError(
                "--optimizer backbone_adam: the model has no pre-trained parameters; give "
                "it --backbone FOLDER (enct5: --t5-dir or --bert-dir), or use "
                "--optimizer adam"
            )
        new = [p for p in params if getattr(p, "param_group", None) != BACKBONE]
        super().__init__(cfg, [{"params": new}, {"params": loaded}])
        self.scales = (1.0, cfg.backbone_lr_ratio)
        self.set_lr(self.optimizer_config["lr"])

    def get_lr(self) -> float:
        """Returns the learning rate of new parameters."""
        return self._lr

    def set_lr(self, lr: float) -> None:
        """Sets the learning rate of new parameters, and the others' to its share."""
        self._lr = lr
        for group, scale in zip(self.param_groups, self.scales):
            group["lr"], group["lr_scale"] = lr * scale, scale

    def load_state_dict(
        self, state_dict: dict[str, Any], optimizer_overrides: dict[str, Any] | None = None
    ) -> None:
        """Reads a state as fairseq's does; the ratio is the one of this training."""
        super().load_state_dict(state_dict, optimizer_overrides)
        self.set_lr(self.optimizer_config["lr"])

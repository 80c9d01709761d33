"""Optimizers, chosen by ``--optimizer``, and learning rates, by ``--lr-scheduler``."""

from .backbone_adam import BackboneAdam, BackboneAdamConfig
from .time_budget import TimeBudget, TimeBudgetConfig

__all__ = ["BackboneAdam", "BackboneAdamConfig", "TimeBudget", "TimeBudgetConfig"]

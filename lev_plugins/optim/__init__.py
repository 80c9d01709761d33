"""Optimizers, chosen by ``--optimizer``, and learning rates, by ``--lr-scheduler``."""

from .backbone_adam import BackboneAdam, BackboneAdamConfig
from .muon import Muon, MuonConfig
from .time_budget import TimeBudget, TimeBudgetConfig

__all__ = [
    "BackboneAdam",
    "BackboneAdamConfig",
    "Muon",
    "MuonConfig",
    "TimeBudget",
    "TimeBudgetConfig",
]

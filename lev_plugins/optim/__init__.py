"""Optimizers, chosen by ``--optimizer``, and learning rates, by ``--lr-scheduler``."""

from . import backbone_adam, muon, time_budget

__all__ = ["backbone_adam", "muon", "time_budget"]

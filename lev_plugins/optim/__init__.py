"""Optimizers, chosen by ``--optimizer``."""

from .backbone_adam import BackboneAdam, BackboneAdamConfig

__all__ = ["BackboneAdam", "BackboneAdamConfig"]

"""Losses."""

from .edit_policy_loss import EditPolicyLoss

__all__ = ["EditPolicyLoss"]

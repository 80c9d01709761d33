"""Muon for the matrices of hidden layers, fairseq's Adam for all other parameters."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.optim import register_optimizer
from fairseq.optim.adam import Adam, FairseqAdam, FairseqAdamConfig
from omegaconf import II
from torch import Tensor, nn

from lev_runtime.errors import UserError

from ..fairseq_patches.hooks import TrainingHooks
from ..nn.backends.cpu import has_amx
from ..nn.embedding import Positions
from ..options import option

HIDDEN = "hidden"  # the parameters' param_group, which fairseq carries over to fp32 copies
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of torch.optim.Muon: steepest at 0, not exact at 1
_STEPS = 5
MOMENTUM = 0.95


def mark_hidden_matrices(model: nn.Module) -> None:
    """Marks every matrix but embedding tables and output projections of the same shape.

    A single row is a vector, which Adam updates.
    """
    modules = [part for part in model.modules() if isinstance(part, nn.Embedding | Positions)]
    tables = {id(part.weight) for part in modules}
    shapes = {part.weight.shape for part in modules}
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            is_table = id(parameter) in tables
            projects = isinstance(module, nn.Linear) and parameter.shape in shapes
            is_matrix = parameter.dim() == 2 and len(parameter) > 1
            if is_matrix and not is_table and not projects:
                parameter.param_group = HIDDEN  # type: ignore[attr-defined]


def orthogonalized(matrices: Tensor, half: bool = False) -> Tensor:
    """Returns U·Vᵀ of each matrix U·S·Vᵀ, nearly: singular values between about 0.7 and 1.2.

    Five Newton-Schulz iterations, as in torch.optim.Muon. That one computes in bf16 always, which
    most CPUs are slow at: here a CPU computes in fp32, but for one with AMX where that is allowed.

    Args:
        matrices: N × R × C, N matrices of one shape.
        half: bf16 is precise enough on a CPU too.

    Returns:
        N × R × C, fp32.
    """
    wide = matrices.size(1) <= matrices.size(2)
    x = matrices if wide else matrices.transpose(1, 2)
    x = x.bfloat16() if x.is_cuda or (half and has_amx()) else x.float()
    norms = x.norm(dim=(1, 2), keepdim=True)
    x = x / norms.clamp(min=1e-7)
    a, b, c = _COEFFICIENTS
    for _ in range(_STEPS):
        gram = x @ x.transpose(1, 2)
        polynomial = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial, x, beta=a)
    if not wide:
        x = x.transpose(1, 2)
    return x.float()


class MuonWithAdam(Adam):
    """Groups with ``momentum``, of matrices, are stepped by Muon, the others by fairseq's Adam.

    Attributes:
        half: the model is trained in half precision, so that Muon may compute in it.
    """

    half = False

    @property
    def supports_flat_params(self) -> bool:
        """Returns False: a flat vector has no rows and columns."""
        return False

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """Updates every parameter that has a gradient."""
        groups: list[dict[str, Any]] = self.param_groups  # type: ignore[has-type]
        try:
            self.param_groups = [group for group in groups if "momentum" not in group]
            loss = super().step(closure)
        finally:
            self.param_groups = groups
        for group in groups:
            if "momentum" in group:
                self._step_matrices(group)
        return loss

    def _step_matrices(self, group: dict[str, Any]) -> None:
        by_shape: dict[torch.Size, list[Tensor]] = {}
        for p in group["params"]:
            if p.grad is not None:
                by_shape.setdefault(p.shape, []).append(p)
        for (rows, columns), params in by_shape.items():
            lookaheads = torch.stack([self._lookahead(p, group["momentum"]) for p in params])
            # an orthogonal matrix has elements of 1/√max(rows, columns) on average
            size = group["lr"] * group["update_rms"] * max(rows, columns) ** 0.5
            decay = group["lr"] * group["weight_decay"]
            for p, update in zip(params, orthogonalized(lookaheads, self.half)):
                value = p.float()  # the parameter itself in fp32
                value.mul_(1 - decay).add_(update, alpha=-size)
                p.copy_(value)

    def _lookahead(self, p: Tensor, momentum: float) -> Tensor:
        """Returns Nesterov's momentum: of the gradient and the running mean of all."""
        assert p.grad is not None
        grad = p.grad.float()
        state = self.state[p]
        mean = state.get("momentum_buffer", torch.zeros_like(grad)).to(grad)
        state["momentum_buffer"] = mean
        mean.lerp_(grad, 1 - momentum)
        return grad.lerp(mean, momentum)


@dataclass
class MuonConfig(FairseqAdamConfig):
    muon_update_rms: float = option(
        0.8,
        "root mean square of a hidden matrix's update, in units of --lr; Adam's is 0.2 to 0.4",
        within="(0, inf)",
    )
    bf16: bool = II("common.bf16")


@register_optimizer("muon", dataclass=MuonConfig)
class Muon(FairseqAdam, TrainingHooks):
    """Muon (Jordan et al., 2024) for hidden matrices: the momentum, orthogonalized.

    Embeddings, output projections, biases and norms are updated by fairseq's Adam with the same
    --lr. Works with every model of fairseq, in fp32, --bf16, --amp and --fp16, which then keeps
    its copies of matrices as matrices (``--fp16-no-flatten-grads``).

    Raises:
        UserError: no hidden matrix, or an option of Adam's that does not work here.
    """

    def __init__(self, cfg: MuonConfig, params: Iterable[nn.Parameter]) -> None:
        super(FairseqAdam, self).__init__(cfg)
        if cfg.fp16_adam_stats:
            raise UserError("--fp16-adam-stats does not work with --optimizer muon; leave it out")
        params = list(params)
        hidden = [p for p in params if getattr(p, "param_group", None) == HIDDEN]
        others = [p for p in params if getattr(p, "param_group", None) != HIDDEN]
        if not hidden:
            raise UserError(
                "--optimizer muon: the model has no hidden matrices; use --optimizer adam"
            )
        groups: list[dict[str, Any]] = [
            {"params": others},
            {"params": hidden, "momentum": MOMENTUM, "update_rms": cfg.muon_update_rms},
        ]
        self._optimizer = MuonWithAdam(groups, **self.optimizer_config)
        self._optimizer.half = cfg.bf16

    def load_state_dict(self, state_dict: Any, optimizer_overrides: Any = None) -> None:
        """Reads a state as fairseq's optimizers do; the size of updates is that of the option."""
        super().load_state_dict(state_dict, optimizer_overrides)
        self._optimizer.param_groups[1]["update_rms"] = self.cfg.muon_update_rms

    @classmethod
    def prepare_model(cls, model: nn.Module) -> None:
        """Marks the matrices, before the optimizer is built."""
        mark_hidden_matrices(model)

"""A GPU that is none: inside :func:`present` tensors of the device ``meta`` have values.

They are computed on the CPU. As on a GPU, tensors of two devices do not go together. Where the host
would wait for a GPU is counted.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

from lev_plugins.nn.backends import optimize

DEVICE = "meta"
COPIES = {"aten::_to_copy", "aten::copy_"}
#: what they give has a size, or a value, that the host has to know
WAITS = {
    "_local_scalar_dense", "_unique2", "bincount", "equal", "masked_select", "nonzero",
    "unique_consecutive", "unique_dim",
}  # fmt: skip
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_"}
PROJECTS = ("lev_plugins", "fairseq")


class Waits(Counter[str]):
    """How often the host waited for the device, by the line that made it wait and the operation."""

    def note(self, operation: str) -> None:
        self[f"{_line()} {operation}"] += 1


def _line() -> str:
    """The innermost line of the package or of fairseq that is being run."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        parts = Path(frame.f_code.co_filename).parts
        for project in PROJECTS:
            if project in parts[:-1]:
                return f"{'/'.join(parts[parts.index(project) :])}:{frame.f_lineno}"
        frame = frame.f_back
    return "elsewhere"


def _waits(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an operation on tensors of the device makes the host wait, copies left out."""
    if name in INDEXING:
        chosen = [index for index in args[1] if isinstance(index, Tensor)]
        return any(index.dtype in (torch.bool, torch.uint8) for index in chosen)
    if name == "repeat_interleave":
        return kwargs.get("output_size") is None
    return name in WAITS


class _OnGPU(Tensor):
    """A tensor of the device, and its values."""

    values: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> "_OnGPU":
        wrapper = Tensor._make_wrapper_subclass(
            cls,
            values.size(),
            strides=values.stride(),
            storage_offset=values.storage_offset(),
            dtype=values.dtype,
            device=DEVICE,
            requires_grad=values.requires_grad,
        )
        wrapper.values = values
        return wrapper

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        raise AssertionError(f"{func} outside of fake_gpu.present")


def to_gpu(value: Tensor) -> Tensor:
    """A tensor with the values of one of the CPU."""
    return value if isinstance(value, _OnGPU) else _OnGPU(value.detach())


def module_to_gpu(module: torch.nn.Module) -> None:
    """Moves its parameters and buffers in place; what two modules share stays shared."""
    for part in module.modules():
        for table in (part._parameters, part._buffers):
            for name, value in table.items():
                if value is None:
                    continue
                if not hasattr(value, "on_gpu"):
                    value.on_gpu = to_gpu(value)  # type: ignore[union-attr]
                    if isinstance(value, torch.nn.Parameter):
                        value.on_gpu.requires_grad_(value.requires_grad)
                table[name] = value.on_gpu  # type: ignore[union-attr]
    optimize(module)


class _Attention(torch.autograd.Function):
    """One kernel forward and one backward."""

    @staticmethod
    def forward(ctx: Any, attend: Any, *inputs: Tensor | None) -> Tensor:
        learns = ctx.needs_input_grad[1:]
        ctx.inputs = [
            tensor.values.detach().requires_grad_(wanted) if isinstance(tensor, _OnGPU) else tensor
            for tensor, wanted in zip(inputs, learns, strict=True)
        ]
        with torch.enable_grad():
            ctx.out = attend(*ctx.inputs)
        return to_gpu(ctx.out)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Tensor | None, ...]:
        wanted = [tensor is not None and tensor.requires_grad for tensor in ctx.inputs]
        learnt = [tensor for tensor, learns in zip(ctx.inputs, wanted) if learns]
        gradients = iter(torch.autograd.grad(ctx.out, learnt, grad.values))
        return None, *(to_gpu(next(gradients)) if learns else None for learns in wanted)


class _Dispatch(TorchDispatchMode):
    def __init__(self, waits: Waits) -> None:
        super().__init__()
        self.waits = waits

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = func._schema.name
        tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
        here = [tensor for tensor in tensors if isinstance(tensor, _OnGPU)]
        target = kwargs.get("device")
        lands = torch.device(target).type == DEVICE if target is not None else bool(here)
        if not here and not lands:
            return func(*args, **kwargs)
        if here and name not in COPIES:
            others = [
                tensor for tensor in tensors if not isinstance(tensor, _OnGPU) and tensor.dim()
            ]
            assert not others, f"{name}: tensors of two devices"
        self._count(name.removeprefix("aten::"), tensors, args, kwargs, lands)
        if target is not None:
            kwargs["device"] = torch.device("cpu")
        args, kwargs = tree_map_only(_OnGPU, lambda tensor: tensor.values, (args, kwargs))
        with torch.no_grad():
            result = func(*args, **kwargs)
        writes = any(
            argument.alias_info and argument.alias_info.is_write
            for argument in func._schema.arguments
        )
        if writes and here and isinstance(tensors[0], _OnGPU):
            return tensors[0] if func._schema.returns else None
        return tree_map_only(Tensor, to_gpu, result) if lands else result

    def _count(
        self, name: str, tensors: list[Tensor], args: Any, kwargs: dict[str, Any], lands: bool
    ) -> None:
        if f"aten::{name}" in COPIES:
            sides = {isinstance(tensor, _OnGPU) for tensor in tensors} | {lands}
            blocks = not kwargs.get("non_blocking") and not (
                name == "copy_" and args[2:] == (True,)
            )
            if len(sides) > 1 and blocks:
                self.waits.note(name)
        elif _waits(name, args, kwargs):
            self.waits.note(name)


class _Functions(TorchFunctionMode):
    """What does not reach the kernels: lists of values, and what is one kernel on a GPU alone."""

    def __init__(self, waits: Waits) -> None:
        super().__init__()
        self.waits = waits

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor and torch.device(kwargs.get("device") or "cpu").type == DEVICE:
            self.waits.note("tensor")
            return to_gpu(func(*args, **{**kwargs, "device": "cpu"}))
        if not args or not isinstance(args[0], _OnGPU):
            return func(*args, **kwargs)
        if func is Tensor.new_tensor:
            self.waits.note("new_tensor")
            return to_gpu(torch.tensor(args[1], **{"dtype": args[0].dtype, **kwargs}))
        if func in (Tensor.tolist, Tensor.numpy):
            self.waits.note(func.__name__)
            return func(args[0].values)
        if func is F.scaled_dot_product_attention:
            return self._attention(*args, **kwargs)
        if func is F.dropout:
            return self._dropout(*args, **kwargs)
        if func in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[1], list):
            self.waits.note("a list of indices")
            index = torch.tensor(args[1], dtype=None if args[1] else torch.long)
            args = (args[0], to_gpu(index), *args[2:])  # as a list is sent to the device
        return func(*args, **kwargs)

    def _dropout(self, x: Tensor, p: float, training: bool, **more: bool) -> Tensor:
        return torch.native_dropout(x, p, True)[0] if training else x

    def _attention(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None, *more: Any, **named: Any
    ) -> Tensor:
        mask = named.pop("attn_mask", mask)

        def attend(*inputs: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(*inputs, *more, **named)

        return _Attention.apply(attend, query, key, value, mask)


@contextlib.contextmanager
def present() -> Iterator[Waits]:
    """Inside the block the device can be computed on, and waits for it are counted."""
    waits = Waits()
    with _Dispatch(waits), _Functions(waits):
        yield waits

"""A GPU that is none: inside :func:`present` tensors of the device ``meta`` have values.

They are computed on the CPU. As on a GPU, tensors of two devices do not go together.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

DEVICE = "meta"
COPIES = {"aten::_to_copy", "aten::copy_"}


class _OnGPU(Tensor):
    """A tensor of the device, and its values."""

    values: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> "_OnGPU":
        made: _OnGPU = Tensor._make_wrapper_subclass(
            cls,
            values.size(),
            strides=values.stride(),
            storage_offset=values.storage_offset(),
            dtype=values.dtype,
            device=DEVICE,
            requires_grad=values.requires_grad,
        )
        made.values = values
        return made

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


class _Dispatch(TorchDispatchMode):
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = func._schema.name
        tensors = [one for one in tree_flatten((args, kwargs))[0] if isinstance(one, Tensor)]
        here = [one for one in tensors if isinstance(one, _OnGPU)]
        target = kwargs.get("device")
        lands = torch.device(target).type == DEVICE if target is not None else bool(here)
        if not here and not lands:
            return func(*args, **kwargs)
        if here and name not in COPIES:
            others = [one for one in tensors if not isinstance(one, _OnGPU) and one.dim()]
            assert not others, f"{name}: tensors of two devices"
        if target is not None:
            kwargs["device"] = torch.device("cpu")
        args, kwargs = tree_map_only(_OnGPU, lambda one: one.values, (args, kwargs))
        with torch.no_grad():
            found = func(*args, **kwargs)
        writes = any(one.alias_info and one.alias_info.is_write for one in func._schema.arguments)
        if writes and here and isinstance(tensors[0], _OnGPU):
            return tensors[0]
        return tree_map_only(Tensor, to_gpu, found) if lands else found


class _Functions(TorchFunctionMode):
    """What does not reach the kernels: lists of values, and attention, which is one kernel."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor and torch.device(kwargs.get("device") or "cpu").type == DEVICE:
            return to_gpu(func(*args, **{**kwargs, "device": "cpu"}))
        if not args or not isinstance(args[0], _OnGPU):
            return func(*args, **kwargs)
        if func is Tensor.new_tensor:
            return to_gpu(torch.tensor(args[1], **{"dtype": args[0].dtype, **kwargs}))
        if func in (Tensor.tolist, Tensor.numpy):
            return func(args[0].values)
        if func is F.scaled_dot_product_attention:
            args, kwargs = tree_map_only(_OnGPU, lambda one: one.values, (args, kwargs))
            return to_gpu(func(*args, **kwargs))
        if func in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[1], list):
            index = torch.tensor(args[1], dtype=None if args[1] else torch.long)
            args = (args[0], to_gpu(index), *args[2:])  # as a list is sent to the device
        return func(*args, **kwargs)


@contextlib.contextmanager
def present() -> Iterator[None]:
    """Inside the block the device can be computed on."""
    with _Dispatch(), _Functions():
        yield

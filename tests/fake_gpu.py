"""A GPU that is none: computed on the CPU, it counts what a GPU would be asked to do.

Inside :func:`counted` tensors of the device ``meta`` have values. Kernels that they launch are
counted by name, and so is every copy for which the host has to wait: all to the host, and those to
the device that do not say ``non_blocking``.
As on a GPU, tensors of two devices do not go together.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

DEVICE = "meta"
#: the size of what they return depends on values
WAITING = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::unique_dim"}
#: with a bool among the indices they look for its places first
INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
#: not a kernel: they allocate, or take another view of what is there
FREE = {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty"}
FREE |= {"aten::_unsafe_view", "aten::detach", "aten::lift_fresh", "aten::new_empty_strided"}
COPIES = {"aten::_to_copy", "aten::copy_"}


@dataclass
class Count:
    """Kernels by name, and what made the host wait."""

    launches: Counter[str] = field(default_factory=Counter)
    syncs: Counter[str] = field(default_factory=Counter)


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
        raise AssertionError(f"{func} outside of fake_gpu.counted")


def to_gpu(value: Tensor) -> Tensor:
    """A tensor with the values of one of the CPU."""
    return value if isinstance(value, _OnGPU) else _OnGPU(value.detach())


def module_to_gpu(module: torch.nn.Module) -> torch.nn.Module:
    """Its parameters and buffers, moved in place."""
    for part in module.modules():
        for table in (part._parameters, part._buffers):
            for name, value in table.items():
                if value is not None:
                    table[name] = _shared(value)
    return module


def _shared(value: Tensor) -> Tensor:
    if not hasattr(value, "on_gpu"):  # one copy of a parameter that two modules share
        moved: Tensor = to_gpu(value)
        if isinstance(value, torch.nn.Parameter):
            moved.requires_grad_(value.requires_grad)
        value.on_gpu = moved  # type: ignore[attr-defined]
    return value.on_gpu  # type: ignore[attr-defined, no-any-return]


class _Dispatch(TorchDispatchMode):
    def __init__(self, count: Count) -> None:
        super().__init__()
        self.count = count

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
        self._note(func, tensors, lands, bool(here), kwargs)
        args, kwargs = tree_map_only(_OnGPU, lambda one: one.values, (args, kwargs))
        with torch.no_grad():
            found = func(*args, **kwargs)
        if writes(func) and here and isinstance(tensors[0], _OnGPU):
            return tensors[0]
        return tree_map_only(Tensor, to_gpu, found) if lands else found

    def _note(
        self, func: Any, tensors: list[Tensor], lands: bool, here: bool, kwargs: dict[str, Any]
    ) -> None:
        name = func._schema.name
        sent = name in COPIES and lands and not here and not kwargs.get("non_blocking")
        masks = any(one.dtype == torch.bool for one in tensors[1:])
        if name in WAITING or name in INDEXING and masks or here and not lands or sent:
            self.count.syncs[name.removeprefix("aten::")] += 1
        view = any(one.alias_info is not None for one in func._schema.returns) and not writes(func)
        if not view and name not in FREE:
            self.count.launches[name.removeprefix("aten::")] += 1


def writes(func: Any) -> bool:
    """Whether an operator works in place."""
    return any(one.alias_info and one.alias_info.is_write for one in func._schema.arguments)


class _Functions(TorchFunctionMode):
    """What does not reach the kernels: lists of values, and attention, which is one kernel."""

    def __init__(self, count: Count) -> None:
        super().__init__()
        self.count = count

    def _sent(self) -> None:
        self.count.launches["tensor"] += 1
        self.count.syncs["tensor"] += 1

    def _place(self, index: Any) -> Any:
        """An index, of which a list is sent to the device."""
        if not isinstance(index, list):
            return index
        self._sent()
        return to_gpu(torch.tensor(index, dtype=None if index else torch.long))

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor and torch.device(kwargs.get("device") or "cpu").type == DEVICE:
            self._sent()
            return to_gpu(func(*args, **{**kwargs, "device": "cpu"}))
        if args and isinstance(args[0], _OnGPU):
            if func is Tensor.new_tensor:
                self._sent()
                return to_gpu(torch.tensor(args[1], **{"dtype": args[0].dtype, **kwargs}))
            if func in (Tensor.__getitem__, Tensor.__setitem__):
                places = args[1] if isinstance(args[1], tuple) else (args[1],)
                args = (args[0], tuple(map(self._place, places)), *args[2:])
            if func in (Tensor.tolist, Tensor.numpy):
                self.count.syncs[func.__name__] += 1
                return func(args[0].values)
            if func is F.scaled_dot_product_attention:
                self.count.launches["attention"] += 1
                args, kwargs = tree_map_only(_OnGPU, lambda one: one.values, (args, kwargs))
                return to_gpu(func(*args, **kwargs))
        return func(*args, **kwargs)


@contextlib.contextmanager
def counted() -> Iterator[Count]:
    """Counts what is asked of the device inside the block."""
    count = Count()
    with _Dispatch(count), _Functions(count):
        yield count

"""Untrusted checkpoint files: read without running, believing or allocating what they say."""

import contextlib
import contextvars
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..errors import UserError
from .archives import check_archive
from .causes import explain
from .finite import refuse_non_finite
from .patching import Stock, patches
from .trust import check_criterion, settings_of

_MOST_SETTINGS = 100_000
#: elements that a model may have beyond those of its checkpoint, as tables of positions
_SLACK = 2**24
#: a tensor takes more bytes than that in a file; and so many parameters may have been built in vain
_LEAST_BYTES, _SPARE = 64, 1000
_FACTORIES = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)


def read_checkpoint(file: Any, map_location: Any = "cpu", **options: Any) -> Any:
    """``torch.load`` that unpickles plain data only, and looks at what it has got.

    Raises:
        UserError: compressed records, settings without end, a tensor larger than what is stored
            of it, or a parameter that is not finite.
        Exception: whatever ``torch.load`` raises; see :func:`~.causes.explain`.
    """
    is_path = isinstance(file, (str, os.PathLike))
    path = os.fspath(file) if is_path else str(getattr(file, "name", ""))
    check_archive(file)
    state = torch.load(file, map_location=map_location, **{**options, "weights_only": True})
    if path and isinstance(state, Mapping):  # another process has looked at what it sends
        for name in ("cfg", "args"):
            _refuse_endless(path, state.get(name))
        _refuse_inflated(path, state.get("model"))
        refuse_non_finite(path, state)
    return state


def _refuse_endless(path: str, settings: object) -> None:
    """Settings that name themselves, or one list many times over, are copied until memory ends."""
    open_ends, count = [settings], 0
    while open_ends:
        one = open_ends.pop()
        count += 1
        if count > _MOST_SETTINGS:
            raise UserError(
                f"checkpoint {path} has more than {_MOST_SETTINGS:,} settings; it is damaged: use "
                "a checkpoint that fairseq has saved"
            )
        if isinstance(one, Mapping):
            open_ends.extend(one.values())
        elif isinstance(one, (list, tuple, set, frozenset)):
            open_ends.extend(one)
        elif hasattr(one, "__dict__") and not isinstance(one, type):
            open_ends.append(vars(one))


def _refuse_inflated(path: str, tensors: object) -> None:
    """One stored number can be a tensor of any size, which a copy would write out."""
    for name, tensor in tensors.items() if isinstance(tensors, Mapping) else ():
        if isinstance(tensor, Tensor) and exceeds_storage(tensor):
            raise UserError(
                f"checkpoint {path}: {name} is {tuple(tensor.shape)}, of which the file holds "
                f"{tensor.untyped_storage().nbytes():,} bytes; it is damaged: copy it again"
            )


def exceeds_storage(tensor: Tensor) -> bool:
    """Whether a tensor is larger than what is stored of it."""
    if tensor.layout is not torch.strided:
        return False
    return tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes()


def _guard_torch_load() -> None:
    """Let every ``torch.load`` of fairseq, in modules not yet imported too, read plain data."""
    load = torch.load

    @functools.wraps(load)
    def loaded(f: Any, *args: Any, **options: Any) -> Any:
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        if caller.split(".")[0] not in ("fairseq", "fairseq_cli"):
            return load(f, *args, **options)
        location = args[0] if args else options.pop("map_location", None)
        options.pop("pickle_module", None)
        return read_checkpoint(f, location, **options)

    torch.load = torch.serialization.load = loaded


def harden_checkpoint_loading() -> None:
    """Let fairseq read a checkpoint as :func:`read_checkpoint` does, and build what it holds.

    Faults: fairseq's ``torch.load`` unpickles anything where TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD
    is set, which many advise to set for fairseq. It builds a model by a checkpoint's settings
    before it looks at the parameters: a width of a thousand million takes all memory. And what
    is raised over settings that make no model is a traceback of some layer.
    """
    from fairseq import checkpoint_utils

    _guard_torch_load()

    @patches(checkpoint_utils, "load_model_ensemble_and_task")
    def load_model_ensemble_and_task(
        stock: Stock,
        filenames: Sequence[str],
        arg_overrides: Mapping[str, object] | None = None,
        *args: object,
        **options: object,
    ) -> tuple[Any, Any, Any]:
        """fairseq's models, settings and task; ``task.checkpoint_cfg`` are the settings.

        Raises:
            UserError: a checkpoint whose settings make no model, a larger one than it holds, or
                ask for what no checkpoint may ask for.
        """
        with wrap_checkpoint_errors(":".join(filenames)), _memory_for(filenames):
            with settings_of(filenames, arg_overrides) as origin:
                found: tuple[Any, Any, Any] = stock(filenames, arg_overrides, *args, **options)
                check_criterion(origin, found[1])
                found[2].checkpoint_cfg = found[1]
                return found


@contextlib.contextmanager
def wrap_checkpoint_errors(path: str) -> Iterator[None]:
    """Whatever goes wrong inside over a checkpoint is said of the checkpoint.

    Raises:
        UserError: in the place of an exception that nobody would understand.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, (UserError, torch.OutOfMemoryError)) or explain(error) is not None:
            raise
        raise UserError(
            f"checkpoint {path} cannot be used here ({type(error).__name__}: {str(error)[:200]}); "
            "it is damaged, or made for another version or another task"
        ) from error


_allocated: contextvars.ContextVar[int | None] = contextvars.ContextVar("allocated", default=None)


@contextlib.contextmanager
def _memory_for(paths: Sequence[str]) -> Iterator[None]:
    """Inside, modules have so many parameters as the files can hold, and some more.

    Files hold two bytes for a parameter at least; what is built may be twice as much, for parts
    that are shared are built first.
    """
    if _allocated.get() is not None:  # a model that loads another
        yield
        return
    bytes_held = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
    most = bytes_held + _SLACK
    left = _allocated.set(most)
    total = number = 0

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal total, number
        total += 0 if parameter is None else parameter.numel()
        number += 1
        if total > most or number > bytes_held // _LEAST_BYTES + _SPARE:
            raise _too_large(paths, total)

    hook = nn.modules.module.register_module_parameter_registration_hook(count)
    try:
        with _Sizes(paths, most):
            yield
    finally:
        hook.remove()
        _allocated.reset(left)


class _Sizes(TorchFunctionMode):
    """Inside, no tensor is made that is larger than all parameters may be."""

    def __init__(self, paths: Sequence[str], most: int) -> None:
        super().__init__()
        self.paths, self.most = paths, most

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        size = _size(func, args)
        if size > self.most:
            raise _too_large(self.paths, size)
        return func(*args, **(kwargs or {}))


def _size(func: object, args: Sequence[object]) -> int:
    """Elements of what a function makes, as far as that is seen from its arguments."""
    if func is torch.arange:
        return int(max((one for one in args if isinstance(one, (int, float))), default=0))
    if func not in _FACTORIES:
        return 0
    sizes = args[0] if args and isinstance(args[0], (tuple, list)) else args
    size = 1
    for one in sizes:
        size *= one if isinstance(one, int) else 1
    return size


def _too_large(paths: Sequence[str], size: int) -> UserError:
    return UserError(
        f"checkpoint {':'.join(paths)} is of a model with {size:,} parameters and more, which the "
        "file is too small to hold; it is damaged, or its settings are not its own"
    )

"""Names of version 0.5: each works for one release more, with a warning that says the new one."""

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Flags of fairseq's commands: old → new.
FLAGS = {"--variants": "--diversity"}
#: Modules below the package that have moved: old → new.
MODULES = {
    "data.noise.chance": "data.noise.rng",
    "data.noise.shapes": "data.noise.ocr_confusions",
    "generators.instructions": "generators.constraints",
    "generators.variants": "generators.diversity",
    "models.enct5.description": "models.enct5.metadata",
    "models.enct5.kinds": "models.enct5.problem_types",
    "models.enct5.pieces": "models.enct5.tokenizer",
    "models.enct5.stored": "models.enct5.binarized",
    "tasks.triples": "tasks.post_editing",
}


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warns, for the caller of the caller, that ``old`` is called ``new`` now."""
    message = f"{old} is deprecated and goes with the next release; use {new}"
    warnings.warn(message, FutureWarning, stacklevel=stacklevel)


def renamed_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that knows old names.

    Args:
        module: its ``__name__``.
        names: old name → new name in the module, or ``other.module:name``.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        elsewhere, _, new = names[name].rpartition(":")
        warn_renamed(f"{module}.{name}", f"{elsewhere or module}.{new}")
        return getattr(importlib.import_module(elsewhere or module), new)

    return find


def renamed_arguments(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Lets a function take named arguments by their old names, ``old="new"``."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def renamed(*args: P.args, **named: P.kwargs) -> R:
            for old in names.keys() & named.keys():
                warn_renamed(f"{function.__name__}({old}=…)", names[old])
                named[names[old]] = named.pop(old)
            return function(*args, **named)

        return renamed

    return decorate


def renamed_attribute(old: str, new: str) -> Any:
    """A property under an old name that reads ``new``."""

    def read(self: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{old}", new)
        return getattr(self, new)

    return property(read, doc=f"Deprecated: use :attr:`{new}`.")


def renamed_field(record: Any, new: str, old: str) -> Any:
    """A field of a record that a user's own class may still have under its old name."""
    if not hasattr(record, new) and hasattr(record, old):
        warn_renamed(f"{type(record).__name__}.{old}", new, stacklevel=4)
        return getattr(record, old)
    return getattr(record, new)


def renamed_flags(arguments: Sequence[str] | None, names: Mapping[str, str]) -> list[str]:
    """A command line with the new names of flags, and a line on standard error for each old one.

    Args:
        arguments: None for the process's own, as argparse takes it.
        names: old flag → new flag, both with their dashes.
    """
    found = []
    for argument in sys.argv[1:] if arguments is None else arguments:
        flag, equals, value = argument.partition("=")
        if flag in names:
            print(f"warning: {flag} is deprecated; use {names[flag]}", file=sys.stderr)
            flag = names[flag]
        found.append(flag + equals + value)
    return found


class MovedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules under the names that they had; each import warns.

    Args:
        package: its ``__name__``.
        names: old → new, both below the package.
    """

    def __init__(self, package: str, names: Mapping[str, str]) -> None:
        self.names = {f"{package}.{old}": f"{package}.{new}" for old, new in names.items()}

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Of a module that has moved."""
        if fullname not in self.names:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module under its new name."""
        new = self.names[spec.name]
        warn_renamed(spec.name, new, stacklevel=2)
        spec.loader_state = importlib.import_module(new).__spec__
        return sys.modules[new]

    def exec_module(self, module: ModuleType) -> None:
        """Leaves it as it was run under its new name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state

"""Names of version 0.5: each works for one release more, with a warning that says the new one."""

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Flags of fairseq's commands: old → new.
FLAGS = {"--variants": "--diversity"}
#: Modules below the package that have moved, with all that is below them: old → new.
MODULES = {
    "checkpoints": "inference.checkpoints",
    "compat": "fairseq_patches",
    "compat.archives": "io.archives",
    "compat.causes": "io.causes",
    "compat.checkpoint_files": "io.checkpoint_files",
    "compat.evaluation": "io.evaluation",
    "compat.finite": "io.finite",
    "compat.indexed": "io.indexed",
    "compat.program": "io.program",
    "compat.saving": "io.saving",
    "compat.trust": "io.trust",
    "correction": "inference.correction",
    "criterions": "systems.levenshtein",
    "criterions.edit_policy_loss": "systems.levenshtein.criterion",
    "data.concat": "systems.transformer_concat.dataset",
    "data.joining": "systems.levenshtein.joining",
    "data.markup": "systems.levenshtein.markup",
    "data.noise.chance": "data.noise.rng",
    "data.noise.shapes": "data.noise.ocr_confusions",
    "data.oov": "systems.levenshtein.oov",
    "data.roll_in": "systems.levenshtein.roll_in",
    "data.text_files": "io.text_files",
    "generators": "systems.levenshtein.decoding",
    "generators.instructions": "systems.levenshtein.decoding.constraints",
    "generators.variants": "systems.levenshtein.decoding.diversity",
    "hub": "inference.editor",
    "metrics.accuracy": "metrics.scorers",
    "metrics.metric_scorer": "metrics.scorers",
    "metrics.rouge": "metrics.scorers",
    "metrics.ter": "metrics.scorers",
    "metrics.word_scorers": "metrics.scorers",
    "models": "systems",
    "models.enct5.description": "systems.enct5.metadata",
    "models.enct5.kinds": "systems.enct5.problem_types",
    "models.enct5.pieces": "systems.enct5.tokenizer",
    "models.enct5.stored": "systems.enct5.binarized",
    "modules": "nn",
    "prediction": "inference.enct5",
    "scoring": "metrics",
    "scoring.metrics": "metrics.corpus",
    "seq2seq": "nn.seq2seq",
    "tasks.translation_concat": "systems.transformer_concat.task",
    "tasks.translation_edit": "systems.levenshtein.task",
    "tasks.triples": "tasks.post_editing",
}
#: Commands that are scripts of the source tree now: old module → file beside the package.
SCRIPTS = {
    "cli.gate_analysis": "examples/analysis/gate_analysis.py",
    "cli.latency": "examples/analysis/latency.py",
    "cli.oracle_curve": "examples/analysis/oracle_curve.py",
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
        """The function under all names of its arguments."""

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
        names: old → new, both below the package; a package stands for all below it.
    """

    def __init__(self, package: str, names: Mapping[str, str]) -> None:
        self.package = package
        self.names = names

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Of a module that has moved."""
        name = fullname.removeprefix(f"{self.package}.")
        if name in SCRIPTS:
            return self._script(fullname, SCRIPTS[name])
        if name == fullname or self._moved(name) is None:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module under its new name."""
        new = f"{self.package}.{self._moved(spec.name.removeprefix(f'{self.package}.'))}"
        warn_renamed(spec.name, new, stacklevel=2)
        spec.loader_state = importlib.import_module(new).__spec__
        return sys.modules[new]

    def exec_module(self, module: ModuleType) -> None:
        """Leaves it as it was run under its new name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state

    def _moved(self, name: str) -> str | None:
        parts = name.split(".")
        for size in range(len(parts), 0, -1):
            new = self.names.get(".".join(parts[:size]))
            if new is not None:
                found = ".".join([new, *parts[size:]])
                return self._moved(found) or found  # it may have moved on since
        return None

    def _script(self, fullname: str, path: str) -> importlib.machinery.ModuleSpec | None:
        file = Path(sys.modules[self.package].__file__ or "").parent.parent / path
        if not file.is_file():
            return None
        warn_renamed(f"python -m {fullname}", f"python {path}", stacklevel=2)
        sys.path.insert(0, str(file.parent))  # where its own modules are
        return importlib.util.spec_from_file_location(fullname, file)

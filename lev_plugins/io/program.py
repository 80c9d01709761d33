"""Tells which command is running in this process."""

import re
import sys
from pathlib import Path
from types import ModuleType

#: ``fairseq_cli.train``, ``…/fairseq_cli/train.py`` and ``…/fairseq-train``
_FAIRSEQS = re.compile(r"(?:^|/)fairseq(?:_cli[./]|-)([\w-]+?)(?:\.py)?$")


def running_command() -> str | None:
    """Returns the fairseq command that runs here, such as ``train``, or None outside of one."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    module = spec.name if spec else ""
    script = sys.argv[0] if sys.argv else ""
    match = _FAIRSEQS.search(module) or _FAIRSEQS.search(script)
    return match[1].replace("_", "-") if match else None


def program_modules(name: str) -> list[ModuleType]:
    """Returns ``fairseq_cli.NAME`` where it is loaded, also as ``__main__`` of a program."""
    path = ("fairseq_cli", f"{name}.py")
    modules = []
    for module in map(sys.modules.get, (f"fairseq_cli.{name}", "__main__")):
        file = getattr(module, "__file__", None) or ""
        if module is not None and Path(file).parts[-2:] == path:
            modules.append(module)
    return modules

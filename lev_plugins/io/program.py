"""Which command is running in this process."""

import os
import re
import sys
from pathlib import Path
from types import ModuleType

#: names of console scripts (pyproject.toml, [project.scripts])
_OURS = re.compile(r"lev-[a-z0-9-]+")


def starts_own_command(package: str) -> bool:
    """Whether this process was started to run a command of ``package``, and is about to.

    That is ``python -m PACKAGE`` or a console script. Python gives the first argument as ``-m``
    while it imports what stands above the module.
    """
    first = sys.argv[0] if sys.argv else ""
    if first != "-m":
        return _OURS.fullmatch(os.path.basename(first)) is not None
    if len(sys.argv) > len(sys.orig_argv):  # a program has put its own there
        return False
    return sys.orig_argv[-len(sys.argv)].removeprefix("-m") == package


def running_command() -> str | None:
    """Name of the fairseq command that runs here, such as ``train``, or ``None`` outside of one.

    Knows ``fairseq-train`` and its like, ``python -m fairseq_cli.train``, a path to that file,
    and all of them below torchrun.
    """
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name.startswith("fairseq_cli."):
        return spec.name.removeprefix("fairseq_cli.").replace("_", "-")
    script = Path(sys.argv[0] if sys.argv else "")
    if script.stem.startswith("fairseq-"):
        return script.stem.removeprefix("fairseq-")
    if script.parent.name == "fairseq_cli" and script.suffix == ".py":
        return script.stem.replace("_", "-")
    return None


def program_modules(name: str) -> list[ModuleType]:
    """``fairseq_cli.NAME`` where it is loaded, also as ``__main__``, under which a program runs."""
    found = (sys.modules.get(one) for one in (f"fairseq_cli.{name}", "__main__"))
    path = ("fairseq_cli", f"{name}.py")
    return [
        module
        for module in found
        if module is not None and Path(getattr(module, "__file__", None) or "").parts[-2:] == path
    ]

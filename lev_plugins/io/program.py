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
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    script = Path(sys.argv[0] if sys.argv else "")
    if spec is not None and spec.name.startswith("fairseq_cli."):
        name = spec.name.removeprefix("fairseq_cli.")
    elif script.parent.name == "fairseq_cli" and script.suffix == ".py":
        name = script.stem
    elif script.stem.startswith("fairseq-"):
        name = script.stem.removeprefix("fairseq-")
    else:
        return None
    return name.replace("_", "-")


def program_modules(name: str) -> list[ModuleType]:
    """``fairseq_cli.NAME`` where it is loaded, also as ``__main__``, under which a program runs."""
    path = ("fairseq_cli", f"{name}.py")
    loaded = filter(None, map(sys.modules.get, (f"fairseq_cli.{name}", "__main__")))
    return [one for one in loaded if Path(getattr(one, "__file__", "") or "").parts[-2:] == path]

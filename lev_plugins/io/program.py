"""Which command is running in this process."""

import sys
from pathlib import Path
from types import ModuleType


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

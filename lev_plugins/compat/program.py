"""Which command is running in this process."""

import sys
from pathlib import Path


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

"""Writes what model hubs read beside an export: a card, and the parameters as safetensors."""

import json
import os
from pathlib import Path

from babel import Locale

from lev_runtime.errors import counted

from ..fairseq_patches.checkpoint_files import plain
from ..inference.checkpoints import CheckpointState

CARD, WEIGHTS = "README.md", "model.safetensors"
_BODY = """\
# {name}

{arch} of fairseq's task {task}: {parameters:,} parameters after {updates}.{valid}

Without torch and fairseq, in the folder above this one:

```python
from lev_runtime import load

model = load({name!r})
```
"""


def write_card(folder: str, state: CheckpointState, name: str, license: str) -> None:
    """Writes README.md with the head that hubs read, by what the checkpoint tells of its training.

    Languages are those sides that are codes of languages; the metric is the one that chose the best
    checkpoint. What is not known is left out.
    """
    cfg, best = state["cfg"], (state.get("extra_state") or {}).get("best")
    data = os.path.basename(os.path.normpath(str(cfg.task.data).split(os.pathsep)[0]))
    metric = cfg.checkpoint.best_checkpoint_metric
    languages = Locale("en").languages
    sides = [plain(cfg.task).get(f"{side}_lang") for side in ("source", "target")]
    head = {
        "license": license,
        "language": [*dict.fromkeys(side for side in sides if side in languages)],
        "library_name": "lev_plugins",
        "tags": ["fairseq", "onnx", cfg.model._name],
        "datasets": [data],
        "metrics": [] if best is None else [metric],
    }
    body = _BODY.format(
        name=name,
        arch=cfg.model._name,
        task=cfg.task._name,
        parameters=sum(tensor.numel() for tensor in state["model"].values()),
        updates=counted(
            sum(run["num_updates"] for run in state["optimizer_history"][-1:]), "update"
        ),
        valid="" if best is None else f" On its validation data: {metric} {best:.4g}.",
    )
    lines = [f"{key}: {json.dumps(value)}" for key, value in head.items() if value]
    Path(folder, CARD).write_text("\n".join(["---", *lines, "---", "", body]), "utf-8")


def write_safetensors(folder: str, state: CheckpointState) -> None:
    """Writes the checkpoint's parameters by fairseq's names."""
    from safetensors.torch import save

    tensors = {name: tensor.clone().contiguous() for name, tensor in state["model"].items()}
    Path(folder, WEIGHTS).write_bytes(save(tensors, {"format": "pt"}))

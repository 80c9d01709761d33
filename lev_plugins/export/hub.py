"""What model hubs read beside an export: a card, and the parameters as safetensors."""

import json
import os
from pathlib import Path

from babel import Locale, UnknownLocaleError

from ..fairseq_patches.checkpoint_files import plain
from ..inference.checkpoints import CheckpointState

CARD, WEIGHTS = "README.md", "model.safetensors"
#: Settings of a training that its card shows.
_SHOWN = {
    "model": "encoder_embed_dim encoder_layers decoder_layers dropout",
    "optimization": "lr max_update update_freq clip_norm",
    "dataset": "max_tokens batch_size",
    "common": "seed fp16 bf16",
}
_BODY = """\
# {name}

{arch} of fairseq's task {task}: {parameters:,} parameters after {updates:,} updates. Without torch
and fairseq, in the folder above this one:

```python
from lev_runtime import load

model = load({name!r})
```

| setting of its training | value |
|---|---|
{rows}
"""


def write_card(folder: str, state: CheckpointState, name: str, license: str) -> None:
    """Writes README.md with the head that hubs read, by what the checkpoint tells of its training.

    Languages are those sides that are codes of languages; the metric is the one that chose the best
    checkpoint. What is not known is left out.
    """
    cfg = {part: plain(state["cfg"][part]) for part in ("task", "checkpoint", *_SHOWN)}
    task, arch = (str(cfg[part]["_name"]) for part in ("task", "model"))
    sides = [cfg["task"].get("source_lang"), cfg["task"].get("target_lang")]
    data = os.path.basename(os.path.normpath(str(cfg["task"].get("data")).split(os.pathsep)[0]))
    head = {
        "license": license,
        "language": [*dict.fromkeys(filter(_is_language, sides))],
        "library_name": "lev_plugins",
        "tags": ["fairseq", "onnx", arch],
        "datasets": [data],
    }
    best = (state.get("extra_state") or {}).get("best")
    if best is not None:
        metric = cfg["checkpoint"]["best_checkpoint_metric"]
        result = {
            "task": {"type": task},
            "dataset": {"type": data, "name": data},
            "metrics": [{"type": metric, "value": best}],
        }
        head |= {"metrics": [metric], "model-index": [{"name": name, "results": [result]}]}
    shown = {setting: cfg[part].get(setting) for part in _SHOWN for setting in _SHOWN[part].split()}
    body = _BODY.format(
        name=name,
        arch=arch,
        task=task,
        parameters=sum(tensor.numel() for tensor in state["model"].values()),
        updates=sum(run.get("num_updates", 0) for run in state["optimizer_history"][-1:]),
        rows="\n".join(f"| {key} | {value} |" for key, value in shown.items() if value),
    )
    lines = [f"{key}: {json.dumps(value)}" for key, value in head.items() if value]
    Path(folder, CARD).write_text("\n".join(["---", *lines, "---", "", body]), "utf-8")


def write_safetensors(folder: str, state: CheckpointState) -> None:
    """Writes the checkpoint's parameters by fairseq's names."""
    from safetensors.torch import save_file

    tensors = {name: tensor.clone().contiguous() for name, tensor in state["model"].items()}
    save_file(tensors, Path(folder, WEIGHTS), {"format": "pt"})


def _is_language(code: str | None) -> bool:
    try:
        return bool(code and Locale.parse(code))
    except (UnknownLocaleError, ValueError):
        return False

"""What a command imports: its help no torch, and a model of ours not all of fairseq."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import saved
import tiny
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY

from lev_plugins.cli import names

#: no help needs one of these, and none is quick to import
HEAVY = {"torch", "fairseq", "omegaconf", "hydra", "scipy", "sklearn", "matplotlib", "transformers"}
#: what fairseq's other models need, and what reports and servers do
NOT_TO_CORRECT = {
    *("scipy", "sklearn", "matplotlib", "pandas", "torchaudio", "transformers", "tensorboardX"),
    *("sacrebleu", "jinja2", "fastapi", "uvicorn", "fairseq_cli"),
}
MODELS = ("hubert", "wav2vec", "roberta", "fconv", "speech_to_text", "bart", "lstm")


def started(root: Path, code: str, *arguments: Any) -> Any:
    """What a process in which a console script of ours begins prints as JSON, alone."""
    done = subprocess.run(
        [sys.executable, "-c", f"import json, sys\nsys.argv[0] = 'lev-correct'\n{code}"]
        + list(map(str, arguments)),
        env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def test_the_help_of_a_command_needs_neither_torch_nor_fairseq(root):
    commands = {name.replace("-", "_") for name in names.COMMANDS}
    code = """
from importlib import import_module
found = {}
for name in json.loads(sys.argv[1]):
    parser = import_module(f"lev_plugins.cli.{name}").build_parser()
    found[name] = [len(parser.format_help()), *{module.split(".")[0] for module in sys.modules}]
print(json.dumps(found))
"""
    imported = started(root, code, json.dumps(sorted(commands)))
    assert set(imported) == commands
    for name, (size, *modules) in imported.items():
        assert size > 100 and not HEAVY & set(modules), name


LEAN = """
import contextlib, io
from lev_plugins.cli import correct
written = []
for path in sys.argv[1:]:
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"abc\\nhg\\n"))
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out:
        assert correct.main(["--path", path]) == 0
        written.append(out.buffer.getvalue().decode())
modules = sorted(sys.modules)
from fairseq import checkpoint_utils
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
before = len(ARCH_MODEL_REGISTRY)
try:
    checkpoint_utils._upgrade_state_dict({"cfg": {"model": {"_name": "lstm"}, "task": {}}})
except Exception:
    pass  # no checkpoint, but its model has been looked for
found = {one: list(value["registry"]) for one, value in REGISTRIES.items()}
found |= {"arch": list(ARCH_MODEL_REGISTRY), "task": list(TASK_REGISTRY)}
print(json.dumps([written, modules, before, found]))
"""


def test_correct_imports_what_its_model_needs_and_the_rest_when_a_checkpoint_asks_for_it(
    root, tmp_path
):
    folder = tiny.dictionaries(tmp_path / "bin").parent
    paths = [
        saved.save(folder / f"{kind}.pt", folder / "bin", kind) for kind in ("editor", "stock")
    ]
    written, modules, before, missing = started(root, LEAN, *paths)
    assert [text.count("\n") for text in written] == [2, 2]
    assert not NOT_TO_CORRECT & {module.split(".")[0] for module in modules}
    assert "fairseq.models.transformer" in modules
    assert not {f"fairseq.models.{name}" for name in MODELS} & set(modules)
    registries = {kind: dict(value["registry"]) for kind, value in REGISTRIES.items()}
    registries |= {"arch": dict(ARCH_MODEL_REGISTRY), "task": dict(TASK_REGISTRY)}
    assert before < len(missing["arch"]) / 2
    for kind, components in registries.items():
        stock = {
            name
            for name, component in components.items()
            if component.__module__.startswith("fairseq.")
        }
        assert stock and stock <= set(missing[kind]), kind


PYTHON = """
sys.argv[0] = "my_program.py"
from lev_plugins import Corrector
modules = sorted(sys.modules)
from fairseq import options
from fairseq.registry import REGISTRIES
options.get_training_parser()
print(json.dumps([modules, {one: list(value["registry"]) for one, value in REGISTRIES.items()}]))
"""


def test_python_imports_no_more_than_the_command_and_all_of_fairseq_once_it_is_asked_for(root):
    modules, registered = started(root, PYTHON)
    assert not NOT_TO_CORRECT & {module.split(".")[0] for module in modules}
    assert not {f"fairseq.models.{name}" for name in MODELS} & set(modules)
    for kind, value in REGISTRIES.items():
        assert set(value["registry"]) <= set(registered[kind]), kind

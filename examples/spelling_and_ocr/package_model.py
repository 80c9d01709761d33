"""Makes the folder of a corrector that is small enough to travel with a package.

    python examples/spelling_and_ocr/package_model.py CHECKPOINT TEXT OUT --data DATA

CHECKPOINT was trained and tuned by examples/quickstart.sh, whose lists lie in TEXT. OUT gets the
model in half precision, without the state of its training and without the paths of this machine,
its dictionaries, its settings, and the lists that may be passed on, in a form that loads at once;
beside the checkpoint what ``lev-export`` makes of it, where that can be exported. codespell's list
of misspellings is not among them (CC BY-SA 3.0): ``lev-correct`` takes it from the installed
package.
"""

import argparse
import copy
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from lists import parser_of
from omegaconf import DictConfig, open_dict

from lev_correct import Corrector, settings
from lev_plugins.export.folder import export
from lev_plugins.fairseq_patches.checkpoint_files import FILES, plain
from lev_plugins.inference.checkpoints import find_checkpoint, load_state
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_lines, require_files

#: Lists of prepare_typos.py by the setting that names them; their words come with MIT licences.
LISTS = {"lexicon": "lexicon.txt", "bigrams": "bigrams.txt", "confusions": "confusions.txt"}
KEPT = ("args", "cfg", "model", "criterion", "task_state", "optimizer_history")
#: Lists in OUT that stay: spoken and foreign words, written by hand, known_words.py's and
#: fit_judge.py's.
KEPT_LISTS = ("protect_words", "known", "judge")
DIGITS = 3  # of a count: the fourth moves no score by what is seen


def small_checkpoint(state: dict[str, Any]) -> dict[str, Any]:
    """What a loader needs of a checkpoint: half precision, and no place of this machine."""
    small = {name: state[name] for name in KEPT if name in state}
    small["cfg"] = without_paths(state["cfg"])
    small["model"] = {
        name: value.half() if value.is_floating_point() else value
        for name, value in state["model"].items()
    }
    words = {name: state["extra_state"].get(name) for name in ("words_learnt",)}
    return {**small, "extra_state": words, "last_optimizer_state": None}


def without_paths(cfg: DictConfig) -> DictConfig:
    """A configuration that names no folder: not the data, beside which nobody is to look for
    dictionaries; of files of subwords the last name, for the loader looks for that beside it."""
    stripped = copy.deepcopy(cfg)
    with open_dict(stripped):
        for group in stripped.values():
            _strip(vars(group) if isinstance(group, argparse.Namespace) else group)
    return stripped


def _strip(settings: Any) -> None:
    for name, value in settings.items() if settings else ():
        if isinstance(value, dict | DictConfig):  # of a task that cuts text itself
            _strip(value)
        elif name == "data" or (isinstance(value, str) and os.path.isabs(value)):
            settings[name] = os.path.basename(value) if name in FILES else None


def subword_files(cfg: DictConfig) -> list[Path]:
    """The files that a checkpoint's ``--bpe`` and ``--tokenizer`` read."""
    parts = [plain(getattr(cfg, name, None)) for name in ("bpe", "tokenizer")]
    return [Path(part[name]) for part in parts for name in FILES if part.get(name)]


def short_counts(line: str) -> str:
    """A word or two with their count, of which :data:`DIGITS` digits are kept."""
    return re.sub(r"(?<= )[\d.]+$", lambda count: f"{float(count[0]):.{DIGITS}g}", line)


def write_lists(stored: dict[str, Any], text: Path, out: Path) -> None:
    """Writes settings and the lists of a folder of text, shortened and prepared."""
    with tempfile.TemporaryDirectory() as folder:
        for key, name in LISTS.items():
            lines = [short_counts(line) + "\n" for line in read_lines(str(text / name))]
            (Path(folder) / f"corrector.{key}").write_text("".join(lines), "utf-8")
            stored[key] = f"corrector.{key}"
        for key in KEPT_LISTS:
            if (path := out / f"corrector.{key}").is_file():
                stored[key] = shutil.copy(path, folder)
        place = Path(folder) / settings.NAME
        place.write_text(json.dumps(stored), "utf-8")
        settings.write(settings.read(str(place)), str(out), prepare=True)


def export_beside(out: Path) -> None:
    """Writes what ``lev-export`` makes of the folder's checkpoint into it, if that is possible."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            export(str(out), f"{folder}/exported")
        except UserError as error:
            print(f"note: not exported, lev-correct will need torch: {error}")
            return
        for path in Path(folder, "exported").iterdir():
            shutil.copy(path, out)


def package(checkpoint: str, data: Path, text: Path, out: Path) -> int:
    """Writes the folder; returns its bytes.

    Raises:
        UserError: a file that is missing, or a checkpoint that was not tuned.
    """
    checkpoint = find_checkpoint(checkpoint)
    tuned = settings.beside(checkpoint)
    if tuned is None:
        raise UserError(f"{checkpoint} has no {settings.NAME} beside it; tune it first")
    state = load_state(checkpoint)
    files = subword_files(state["cfg"])
    require_files([str(text / name) for name in LISTS.values()] + list(map(str, files)))
    out.mkdir(parents=True, exist_ok=True)
    torch.save(small_checkpoint(state), out / "model.pt")
    for path in [*sorted(data.glob("dict.*.txt")), *files]:
        (out / path.name).write_bytes(path.read_bytes())
    stored = json.loads(Path(tuned).read_text(encoding="utf-8"))
    stored |= {"lookup": None, "protect_words": None, "protect_code": True}
    write_lists(stored, text, out)
    Corrector.from_pretrained(out)  # refuses dictionaries of another model
    export_beside(out)
    return sum(path.stat().st_size for path in out.iterdir())


def main() -> None:
    """Run the script."""
    parser = parser_of(__doc__)
    parser.add_argument("checkpoint", help="tuned, with corrector.json beside it")
    parser.add_argument("text", type=Path, help="folder of prepare_typos.py")
    parser.add_argument("out", type=Path, help="folder to write")
    parser.add_argument("--data", type=Path, required=True, help="folder with the dictionaries")
    args = parser.parse_args()
    size = package(args.checkpoint, args.data, args.text, args.out)
    print(f"{args.out}: {size:,} bytes")


if __name__ == "__main__":
    run_cli(main)
